//! Why a request would wait, and how long: its rules, its scopes, and what each says now.

use crate::admin::pages::Views;
use crate::admin::rows;
use crate::pace::claims::{Asked, Claims};
use crate::pace::scope::Host;
use crate::state::picture::RowView;
use http::Uri;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// What the configuration says of a request for a URL, as far as that can be said without its head.
#[derive(Debug)]
pub struct Foreseen {
    /// The rules that apply, by name.
    pub rules: Vec<String>,
    pub claims: Claims,
}

/// Foresees a request.
pub type Foresight = Arc<dyn Fn(&Uri, &Host) -> Foreseen + Send + Sync>;

/// All scopes must let it go; the last to do so says why and when.
pub fn explanation(views: &Views, url: &Uri, host: &Host) -> Value {
    let Foreseen { rules, claims } = (views.foresight)(url, host);
    let now = views.gate.clock().now();
    let asked: Vec<&Asked> = claims.iter().collect();
    let rows: Vec<_> = asked.iter().map(|asked| views.gate.row(&asked.scope)).collect();
    let waiting = rows.iter().flatten().filter(|row| row.waits_for.is_some());
    let latest = waiting.max_by_key(|row| row.newcomer);
    let waits = latest.map_or(Duration::ZERO, |row| row.newcomer.since(now));
    let of_scope = |(asked, row): (&&Asked, &Option<RowView>)| {
        json!({
            "scope": asked.scope.as_str(),
            "cost": asked.cost.amount(),
            "learns": asked.learns,
            "pace": rows::rules(&views.gate.rules(&asked.scope)),
            "row": row.as_ref().map(|row| rows::row(row, now)),
        })
    };
    json!({
        "url": url.to_string(),
        "host": host.as_str(),
        "rules": rules,
        "scopes": asked.iter().zip(&rows).map(of_scope).collect::<Vec<_>>(),
        "starts_at_once": latest.is_none(),
        "waits_for": latest.and_then(|row| row.waits_for).map(|reason| reason.word()),
        "waits_at_least_seconds": waits.as_secs_f64(),
    })
}
