//! Shipped hardware: what it is, and the routes, pools and resources of accelerators.

mod chiplets;

use expect_test::expect;
use millstream::accelerator::route::Routes;
use millstream::accelerator::yaml::{self, File};
use millstream::accelerator::{Accelerator, CoreKind, LinkClass, Port};
use millstream::diagnostic::Diagnostic;
use millstream::ids::{CoreId, PoolId};
use millstream::units::{Bits, BitsPerCycle};
use millstream::workload::MemoryOperand;
use proptest::prelude::*;
use std::cmp::Reverse;
use std::path::Path;

fn shipped(name: &str) -> Accelerator {
    match yaml::shipped(name) {
        Some(Ok(accelerator)) => accelerator,
        Some(Err(errors)) => panic!("{errors}"),
        None => panic!("{name} is not shipped"),
    }
}

/// An accelerator from text, with shipped cores.
fn accelerator(text: &str) -> Accelerator {
    let resolver = |name: &str| {
        let text = millstream::library::core(name.trim_end_matches(".yaml"));
        let text = text.ok_or_else(|| Diagnostic::new(format!("no core {name}")))?;
        Ok(File { name: name.to_owned(), text: text.to_owned() })
    };
    yaml::parse("a.yaml", text, &resolver).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Three simd cores (one pool each) and a DRAM (core 3, and more if `cores` names them).
fn small(connections: &str) -> Accelerator {
    accelerator(&format!(
        "name: small\ncores: {{0: simd.yaml, 1: simd.yaml, 2: simd.yaml, 3: dram.yaml}}\n\
         core_connectivity:\n{connections}"
    ))
}

/// Names of the resources of a route.
fn route(accelerator: &Accelerator, from: u32, to: u32) -> String {
    let routes = Routes::new(accelerator);
    let pool = |core: u32| accelerator.top_pool(CoreId(core), MemoryOperand::O).unwrap();
    let route = routes.route(pool(from), pool(to)).expect("a path");
    let names: Vec<_> = (route.resources.iter())
        .map(|resource| accelerator.resources[resource.index()].name.as_str())
        .collect();
    let (latency, bandwidth, hops) = (route.latency, route.bandwidth.0, route.hops);
    format!("{}; latency {latency}, {bandwidth} bits/cycle, {hops} hops", names.join(", "))
}

#[test]
fn all_shipped_hardware_loads_and_all_cores_reach_dram() {
    for name in millstream::library::accelerators() {
        let accelerator = shipped(name).with_dram().unwrap_or_else(|errors| panic!("{errors}"));
        let routes = Routes::new(&accelerator);
        for core in accelerator.compute_cores() {
            let dram = routes.nearest_dram(core).expect("a DRAM");
            for pool in accelerator.core(core).pools.iter().flatten() {
                assert!(routes.route(*pool, dram).is_some(), "{name}");
                assert!(routes.route(dram, *pool).is_some(), "{name}");
            }
        }
    }
}

#[test]
fn the_testing_two_core_accelerator() {
    expect![[r#"
        accelerator testing_two_core: 3 cores, 2 computing

          cores  kind          array        pJ/op  operators        dataflow
          0-1    testing_core  16x16 = 256  0.04   all unclaimed    D1: K 16, D2: C 16
          2      dram          none                external memory

          memories of testing_core  size     operands  bits/cycle          pJ/read  pJ/write  instances
          rf_1B_I                   1 B      I1        r 8, w 8            0.01     0.01      16
          rf_1B_W                   1 B      I2        r 8, w 8            0.01     0.01      256
          rf_2B                     2 B      O         2 x r 16, 2 x w 16  0.02     0.02      16
          sram_64KB                 64 KiB   I2        r 64-512, w 64-512  26.56    30.8      1
          sram_32KB                 32 KiB   I1        r 64-256, w 64-256  13.28    15.4      1
          sram_128K_A               128 KiB  I1 O      r 64-128, w 64-128  26.01    23.65     1
          sram_128K_W               128 KiB  I2        r 64-128, w 64-128  26.01    23.65     1

          memories of dram  size      operands  bits/cycle  pJ/read  pJ/write  instances
          dram              1192 MiB  I1 I2 O   rw 64       1000     1000      1

          connection  class    bits/cycle  latency  energy      cores
          link        noc      64          0        0 pJ/cycle  0-1
          bus         offchip  128         0        0 pJ/cycle  0 1 2

          pool         size       operands  out b/cc  in b/cc            cores
          sram_128K_A  128 KiB    I1 O      128       128                0-1
          sram_128K_W  128 KiB    I2        128       128                0-1
          dram         unlimited  I1 I2 O   64        64       one port  2
    "#]]
    .assert_eq(&shipped("testing_two_core").to_string());
}

#[test]
fn the_tpu_like_quad_core_accelerator() {
    expect![[r#"
        accelerator tpu_like_quad_core: 7 cores, 6 computing

          cores  kind      array         pJ/op  operators                                            dataflow
          0-3    tpu_like  32x32 = 1024  0.04   all unclaimed                                        D1: K 32, D2: C 32
          4      pooling   3x3x8 = 72    0.1    MaxPool AveragePool GlobalAveragePool GlobalMaxPool  generated
          5      simd      64            0.1    Add Sub Mul and 23 more                              generated
          6      dram      none                 external memory

          memories of tpu_like  size   operands  bits/cycle            pJ/read  pJ/write  instances
          rf_128B               128 B  I2        r 8, w 8              0.095    0.095     1024
          rf_2B                 2 B    O         2 x r 16, 2 x w 16    0.021    0.021     32
          sram_2MB              2 MiB  I1 I2 O   r 64-2048, w 64-2048  416.16   378.4     1

          memories of pooling  size     operands  bits/cycle    pJ/read  pJ/write  instances
          sram_128KB           128 KiB  I1 I2 O   r 576, w 512  60       75        1

          memories of simd  size     operands  bits/cycle  pJ/read  pJ/write  instances
          sram_128KB_2rw    128 KiB  I1 I2 O   2 x rw 512  60       75        1

          memories of dram  size      operands  bits/cycle  pJ/read  pJ/write  instances
          dram              1192 MiB  I1 I2 O   rw 64       1000     1000      1

          connection  class    bits/cycle  latency  energy      cores
          link        noc      32          0        0 pJ/cycle  0-1, 1-2, 2-3, 3-0, 0-4, 1-4, 2-4, 3-4, 0-5, 1-5, 2-5, 3-5
          bus         offchip  128         0        0 pJ/cycle  0 1 2 3 4 5 6

          pool            size       operands  out b/cc  in b/cc            cores
          sram_2MB        2 MiB      I1 I2 O   2048      2048               0-3
          sram_128KB      128 KiB    I1 I2 O   576       512                4
          sram_128KB_2rw  128 KiB    I1 I2 O   512       512                5
          dram            unlimited  I1 I2 O   64        64       one port  6
    "#]].assert_eq(&shipped("tpu_like_quad_core").to_string());
}

#[test]
fn a_lone_core_with_its_top_memory_as_dram() {
    expect![[r#"
        accelerator tpu_like: 2 cores, 1 computing

          cores  kind      array                   pJ/op  operators        dataflow
          0      tpu_like  32x32 = 1024, systolic  0.04   all unclaimed    D1: K 32, D2: C 32
          1      dram      none                           external memory

          memories of tpu_like  size   operands  bits/cycle            pJ/read  pJ/write  instances
          rf_128B               128 B  I2        r 8, w 8              0.095    0.095     1024
          rf_2B                 2 B    O         2 x r 16, 2 x w 16    0.021    0.021     1024
          sram_2MB              2 MiB  I1 O      r 64-2048, w 64-2048  416.16   378.4     1

          memories of dram  size      operands  bits/cycle  pJ/read  pJ/write  instances
          dram              1192 MiB  I1 I2 O   rw 64       700      750       1

          connection  class    bits/cycle  latency  energy      cores
          link        offchip  64          0        0 pJ/cycle  0-1

          pool      size       operands  out b/cc  in b/cc            cores
          sram_2MB  2 MiB      I1 O      2048      2048               0
          rf_128B   128 KiB    I2        8192      8192               0
          dram      unlimited  I1 I2 O   64        64       one port  1

        note: `dram` holds all operands at the top and counts as off-chip

        note: `core0.rf_128B` is the top memory of an operand and counts with all its 1024 instances
    "#]]
    .assert_eq(&shipped("tpu_like").with_dram().unwrap().to_string());
}

#[test]
fn operators_find_their_cores() {
    let quad = shipped("tpu_like_quad_core");
    let claiming = |operator: &str| -> Vec<u32> {
        let own = |core: &CoreId| quad.kind(*core).operator_types.is_some();
        let cores: Vec<CoreId> =
            quad.compute_cores().filter(|core| quad.kind(*core).claims(operator)).collect();
        let special: Vec<CoreId> = cores.iter().copied().filter(own).collect();
        let cores = if special.is_empty() { cores } else { special };
        cores.iter().map(|core| core.0).collect()
    };
    assert_eq!(claiming("Conv"), [0, 1, 2, 3]);
    assert_eq!(claiming("GlobalAveragePool"), [4]);
    assert_eq!(claiming("Add"), [5]);
}

#[test]
fn the_shipped_figures_are_those_of_the_reference() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/reference");
    if !folder.is_dir() {
        eprintln!("skipped: {} is not there", folder.display());
        return;
    }
    for (name, path) in [
        ("tpu_like_quad_core", "stream/inputs/main/examples/hardware/tpu_like_quad_core.yaml"),
        ("testing_four_core", "stream/inputs/main/testing/hardware/quad_testing_core_offchip.yaml"),
        ("tpu_like", "zigzag/inputs/hardware/tpu_like.yaml"),
        ("eyeriss_like", "zigzag/inputs/hardware/eyeriss_like.yaml"),
        ("meta_prototype", "zigzag/inputs/hardware/meta_prototype.yaml"),
    ] {
        let (ours, theirs) = (shipped(name), yaml::load(&folder.join(path)).unwrap());
        assert_eq!(ours.links, theirs.links, "{name}");
        for (ours, theirs) in ours.kinds.iter().zip(&theirs.kinds) {
            assert_eq!(figures(ours), figures(theirs), "{name}");
        }
    }
}

/// A core without its name, what it runs, and the order inside its ports.
fn figures(kind: &CoreKind) -> CoreKind {
    let mut kind = CoreKind { name: String::new(), operator_types: None, dataflows: vec![], ..kind.clone() };
    for memory in &mut kind.memories {
        memory.ports.iter_mut().for_each(|port: &mut Port| port.allocation.sort());
    }
    kind
}

#[test]
fn latency_then_hops_then_width_decide() {
    let bus = "  - {type: bus, cores: [0, 1, 2, 3], bandwidth: 8}\n";
    let wide = small(&format!("{bus}  - {{type: link, cores: [0, 1], bandwidth: 256}}\n"));
    expect!["core0.sram_128KB_2rw rw_port_2, link core0->core1, core1.sram_128KB_2rw rw_port_1; latency 0, 256 bits/cycle, 1 hops"]
        .assert_eq(&route(&wide, 0, 1));
    expect!["core2.sram_128KB_2rw rw_port_2, bus 0, core1.sram_128KB_2rw rw_port_1; latency 0, 8 bits/cycle, 1 hops"].assert_eq(&route(&wide, 2, 1));
    let slow = small(&format!(
        "{bus}  - {{type: link, cores: [2, 0], bandwidth: 256}}\n  - {{type: link, cores: [0, 1], bandwidth: 256}}\n"
    ));
    // One hop over the narrow bus, not two over the wide links.
    expect!["core2.sram_128KB_2rw rw_port_2, bus 0, core1.sram_128KB_2rw rw_port_1; latency 0, 8 bits/cycle, 1 hops"].assert_eq(&route(&slow, 2, 1));
    let late = slow_bus(&slow);
    expect!["core2.sram_128KB_2rw rw_port_2, link core2->core0, link core0->core1, core1.sram_128KB_2rw rw_port_1; latency 0, 256 bits/cycle, 2 hops"].assert_eq(&route(&late, 2, 1));
}

/// The same with a bus that takes 3 cycles a hop.
fn slow_bus(accelerator: &Accelerator) -> Accelerator {
    let mut accelerator = accelerator.clone();
    accelerator.links[0].latency = 3;
    accelerator
}

#[test]
fn a_dram_core_is_no_router() {
    let star = small(
        "  - {type: link, cores: [0, 3], bandwidth: 64}\n  - {type: link, cores: [1, 3], bandwidth: 64}\n\
         \x20 - {type: link, cores: [2, 3], bandwidth: 64}\n",
    );
    let routes = Routes::new(&star);
    assert_eq!(routes.route(PoolId(0), PoolId(1)), None);
    assert!(routes.route(PoolId(0), PoolId(3)).is_some());
    assert_eq!(routes.route(PoolId(0), PoolId(0)), None);
}

#[test]
fn pools_of_one_core_are_joined_by_their_ports() {
    let two = shipped("testing_two_core");
    let routes = Routes::new(&two);
    let [activations, weights] =
        [MemoryOperand::O, MemoryOperand::I2].map(|operand| two.top_pool(CoreId(0), operand).unwrap());
    let route = routes.route(activations, weights).unwrap();
    assert_eq!(route.resources, [two.pool(activations).read_port, two.pool(weights).write_port]);
    assert_eq!((route.hops, route.bandwidth), (0, BitsPerCycle(128)));
}

#[test]
fn the_nearest_of_two_drams_serves_a_core() {
    let two = accelerator(
        "name: two\ncores: {0: simd.yaml, 1: simd.yaml, 2: dram.yaml, 3: dram.yaml}\noffchip_core_id: [2, 3]\n\
         core_connectivity:\n  - {type: link, cores: [0, 1], bandwidth: 64}\n\
         \x20 - {type: link, cores: [0, 2], bandwidth: 64}\n  - {type: link, cores: [1, 3], bandwidth: 64}\n",
    );
    let routes = Routes::new(&two);
    let nearest = |core: u32| two.pool(routes.nearest_dram(CoreId(core)).unwrap()).core;
    assert_eq!([0, 1, 3].map(nearest), [CoreId(2), CoreId(3), CoreId(3)]);
    assert_eq!(
        two.links.iter().map(|link| link.class).collect::<Vec<_>>(),
        [LinkClass::Noc, LinkClass::Offchip, LinkClass::Offchip]
    );
}

#[test]
fn without_connections_every_core_gets_a_link_to_dram() {
    let bare = accelerator("name: bare\ncores: {0: simd.yaml, 1: simd.yaml, 2: dram.yaml}\n");
    assert_eq!(bare.links.len(), 2);
    expect!["no connection reaches DRAM core 2: every core gets a link of 64 bits/cycle to it, and all share its ports"].assert_eq(&bare.notes.join("\n"));
    expect![
        "dram rw_port_1, link core2->core1, core1.sram_128KB_2rw rw_port_1; latency 0, 64 bits/cycle, 1 hops"
    ]
    .assert_eq(&route(&bare, 2, 1));
}

#[test]
fn cores_may_share_their_top_memory() {
    let shared = accelerator(
        "name: shared\ncores: {0: simd.yaml, 1: simd.yaml, 2: dram.yaml}\n\
         core_connectivity:\n  - {type: link, cores: [0, 2], bandwidth: 64}\n\
         core_memory_sharing: ['0, 1']\n",
    );
    assert_eq!(shared.pools.len(), 2);
    assert_eq!(shared.core(CoreId(0)).pools, shared.core(CoreId(1)).pools);
    assert_eq!(shared.pools[0].users.len(), 6);
    // Core 1 reaches DRAM over the link of core 0, because the memory is there.
    let routes = Routes::new(&shared);
    assert_eq!(routes.nearest_dram(CoreId(1)), Some(PoolId(1)));
}

#[test]
fn a_memory_per_unit_counts_with_all_instances() {
    let lone = shipped("tpu_like").with_dram().unwrap();
    let weights = lone.top_pool(CoreId(0), MemoryOperand::I2).unwrap();
    // 1024 multipliers with 1024 bits and 8 bits per cycle each.
    assert_eq!(lone.pool(weights).size, Bits(1024 * 1024));
    let port = lone.pool(weights).write_port;
    assert_eq!(lone.resources[port.index()].bandwidth, BitsPerCycle(8192));
}

/// The best (latency, hops, bottleneck) of all simple paths from `at` to `to` by trying them.
fn best_path(
    links: &[(u32, u32, u64, u64)],
    at: u32,
    to: u32,
    visited: &mut Vec<u32>,
    so_far: (u64, u32, u64),
) -> Option<(u64, u32, Reverse<u64>)> {
    if at == to {
        return Some((so_far.0, so_far.1, Reverse(so_far.2)));
    }
    visited.push(at);
    let mut best = None;
    for (from, until, bandwidth, latency) in links {
        let next = match at {
            _ if at == *from => *until,
            _ if at == *until => *from,
            _ => continue,
        };
        // Core 5 is the DRAM.
        if visited.contains(&next) || (next == 5 && to != 5) {
            continue;
        }
        let so_far = (so_far.0 + latency, so_far.1 + 1, so_far.2.min(*bandwidth));
        let found = best_path(links, next, to, visited, so_far);
        best = [best, found].into_iter().flatten().min();
    }
    visited.pop();
    best
}

proptest! {
    #[test]
    fn routes_are_the_best_of_all_paths(
        links in prop::collection::vec((0..5u32, 1..5u32, 1..5u64, 0..3u64), 0..10),
    ) {
        // A ring over all cores keeps DRAM in reach; others are drawn.
        let mut links: Vec<_> =
            links.into_iter().map(|(a, step, width, latency)| (a, (a + step) % 5, width * 16, latency)).collect();
        links.extend((0..5).map(|core| (core, core + 1, 48, 1)));
        let lines: String = (links.iter())
            .map(|(a, b, width, latency)| format!("  - {{type: link, cores: [{a}, {b}], bandwidth: {width}, latency: {latency}}}\n"))
            .collect();
        let accelerator = accelerator(&format!(
            "name: random\ncores: [simd.yaml, simd.yaml, simd.yaml, simd.yaml, simd.yaml, dram.yaml]\ncore_connectivity:\n{lines}"
        ));
        let routes = Routes::new(&accelerator);
        for from in 0..6 {
            for to in (0..6).filter(|to| *to != from) {
                let best = best_path(&links, from, to, &mut Vec::new(), (0, 0, 512));
                let route = routes.route(PoolId(from), PoolId(to));
                // Ports are wider than links but at the DRAM, whose 64 bits hide wider bottlenecks.
                let found = route.map(|route| (route.latency, route.hops, route.bandwidth.0));
                let dram = if from == 5 || to == 5 { 64 } else { u64::MAX };
                prop_assert_eq!(found, best.map(|(latency, hops, width)| (latency, hops, width.0.min(dram))));
            }
        }
    }
}
