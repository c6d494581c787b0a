//! How does one request travel? Claim, attempt, verdict; deliver, go round again, or give up.
//!
//! This room must not know thresholds, status lists or YAML: what an outcome means is `judge`'s,
//! when an attempt may start is `pace`'s.

pub mod admit;
pub mod attempt;
pub mod deliver;
pub mod ending;
pub mod gather;
pub mod here;
pub mod hold;
pub mod intercept;
pub mod interim;
pub mod job;
pub mod journal;
pub mod planned;
pub mod presence;
pub mod record;
pub mod remembered;
pub mod reply;
pub mod robots;
pub mod serve;
pub mod session;
pub mod settings;
pub mod settle;
pub mod streams;
pub mod terms;
pub mod tunnel;
pub mod works;

use crate::flow::deliver::{Gone, Reply};
use crate::flow::hold::Held;
use crate::flow::job::Job;
use crate::flow::settings::{Preset, RobotsDelay};
use crate::flow::settle::Course;
use crate::flow::works::Flow;
use http::Response;

/// One request's whole journey: accepted once, answered once.
pub async fn conduct(flow: &Flow, mut job: Box<Job>) -> Result<Response<Reply>, Gone> {
    if job.terms.robots.delay != RobotsDelay::Off && job.preset != Preset::Off {
        Box::pin(robots::attend(flow, &job)).await;
    }
    loop {
        let permit = match hold::claim(flow, &mut job).await {
            Held::Go(permit) => permit,
            Held::Over(ending) => return Ok(deliver::last(flow, *job, ending)),
            Held::Left => return Err(Gone),
        };
        // In a box of its own: a held request, which makes no attempt, is small.
        let attempted = Box::pin(attempt::make(flow, &mut job, permit)).await;
        match settle::settle(flow, &mut job, attempted) {
            Course::Deliver(answer) => return Ok(deliver::answer(flow, *job, answer)),
            Course::Again => {}
            Course::GiveUp(ending) => return Ok(deliver::last(flow, *job, ending)),
            Course::Left => return Err(Gone),
        }
    }
}
