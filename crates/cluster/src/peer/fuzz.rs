//! Fuzz body: for any bytes nothing panics, and what is read is printed as a text that means the
//! same.

use super::message::{
    Executed, JoinAnswer, JoinRequest, LeaveAnswer, LeaveRequest, NodeStatus, Offer, Refusal,
    RemoveRequest, Sums,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Messages between nodes.
pub fn message(bytes: &[u8]) {
    again::<JoinRequest>(bytes);
    again::<JoinAnswer>(bytes);
    again::<NodeStatus>(bytes);
    again::<Executed>(bytes);
    again::<RemoveRequest>(bytes);
    again::<LeaveRequest>(bytes);
    again::<LeaveAnswer>(bytes);
    again::<Offer>(bytes);
    again::<Sums>(bytes);
    again::<Refusal>(bytes);
}

fn again<T: Serialize + DeserializeOwned>(bytes: &[u8]) {
    if let Ok(message) = serde_json::from_slice::<T>(bytes) {
        let printed = serde_json::to_vec(&message).expect("it was read");
        let read: T = serde_json::from_slice(&printed).expect("it was printed");
        let again = serde_json::to_vec(&read).expect("it was read");
        assert_eq!(again, printed);
    }
}
