//! `clients.weights`: whose turn comes how often.

use crate::config::node::{Node, Scalar, Value};
use crate::config::value::{self, Read, wrong};
use crate::pace::turn::Weight;
use std::collections::HashMap;
use std::sync::Arc;

/// Labels and their weights.
pub(in crate::config) fn weights(node: &Node) -> Read<Arc<HashMap<String, Weight>>> {
    let entries = match &node.value {
        Value::Map(entries) => entries.as_slice(),
        Value::Scalar { kind: Scalar::Null, .. } => &[],
        Value::Scalar { .. } | Value::List(_) => {
            return wrong(node, "is a map of labels to weights", "write it like `{nightly: 3}`");
        }
    };
    let (mut weights, mut wrongs) = (HashMap::new(), Vec::new());
    for entry in entries {
        let weight = value::count(&entry.node, 1..=Weight::MOST.into());
        match weight.map(|weight| u8::try_from(weight).ok().and_then(Weight::new)) {
            Ok(weight) => drop(weights.insert(entry.key.clone(), weight.unwrap_or_default())),
            Err(more) => wrongs.extend(more),
        }
    }
    if wrongs.is_empty() { Ok(Arc::new(weights)) } else { Err(wrongs) }
}
