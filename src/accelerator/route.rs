//! stub (colleague's file replaces it)
use super::Accelerator;
use crate::ids::{PoolId, ResourceId};
use crate::units::BitsPerCycle;
/// A route.
#[derive(Clone, Debug)]
pub struct Route { /** r */ pub resources: Vec<ResourceId>, /** l */ pub latency: u64, /** b */ pub bandwidth: BitsPerCycle, /** h */ pub hops: u32 }
/// Routes.
pub struct Routes;
impl Routes {
    /// r
    pub fn new(_: &Accelerator) -> Self { Self }
    /// r
    pub fn route(&self, _: PoolId, _: PoolId) -> Option<&Route> { None }
}
