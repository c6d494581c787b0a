//! The story: the four crawls at the same time, each with a shop (and a proxy) of its own.
//!
//! Must not know how a proxy is made: it is handed what starts one. Nor how it looks: it hands out
//! records.

use crate::clock::{Clock, Tick};
use crate::demo::crawler::{Crawler, Plan, Route};
use crate::demo::record::{Run, Sample, Story};
use crate::demo::scene::{Kind, Proxy, ProxySetup, Scene};
use crate::demo::shop::Shop;
use std::io;
use std::time::Duration;
use tokio::task::JoinSet;

/// Tells the story: under half a minute with the scene's defaults.
///
/// `start` starts a proxy, once for each crawl that needs one. `watch` is shown the crawls so far,
/// four times a second and once when they are over. The error is a listener's, or `start`'s.
/// Dropping the future ends everything but the proxies' own tasks.
pub async fn tell<P, S, F>(
    scene: Scene,
    clock: &Clock,
    start: S,
    mut watch: impl FnMut(&[Run; 4]),
) -> io::Result<Story>
where
    P: Proxy,
    S: Fn(ProxySetup) -> F,
    F: Future<Output = io::Result<P>>,
{
    let [direct, paced, unpaced, hasty] = Kind::ALL;
    let mut stages = [
        Stage::set(direct, &scene, clock, &start).await?,
        Stage::set(paced, &scene, clock, &start).await?,
        Stage::set(unpaced, &scene, clock, &start).await?,
        Stage::set(hasty, &scene, clock, &start).await?,
    ];
    play(&mut stages, &scene, clock, &mut watch).await;
    settle(&mut stages, clock).await;
    let runs = stages.each_ref().map(Stage::run);
    watch(&runs);
    for stage in stages {
        if let Some(proxy) = stage.proxy {
            proxy.stop().await;
        }
    }
    Ok(Story { scene, runs })
}

async fn play<P: Proxy>(
    stages: &mut [Stage<P>; 4],
    scene: &Scene,
    clock: &Clock,
    watch: &mut impl FnMut(&[Run; 4]),
) {
    let began = clock.now();
    let mut crawls = JoinSet::new();
    for (place, stage) in stages.iter_mut().enumerate() {
        stage.began = began;
        let crawler = stage.crawler.clone();
        crawls.spawn(async move {
            crawler.run().await;
            place
        });
    }
    let mut looks = 0_u32;
    while !crawls.is_empty() && clock.now() < began + scene.limit {
        let next_look = began + LOOK * (looks + 1);
        tokio::select! {
            biased;
            Some(Ok(place)) = crawls.join_next() => stages[place].ended = Some(clock.now()),
            () = clock.sleep_until(next_look) => {
                looks += 1;
                stages.iter_mut().for_each(|stage| stage.look(clock.now()));
                if looks.is_multiple_of(LOOKS_A_FRAME) {
                    watch(&stages.each_ref().map(Stage::run));
                }
            }
        }
    }
}

/// Departures are noticed, and rows go, a moment after the last page.
async fn settle<P: Proxy>(stages: &mut [Stage<P>; 4], clock: &Clock) {
    let limit = clock.now() + SETTLE;
    while !stages.iter().all(Stage::settled) && clock.now() < limit {
        clock.sleep_until(clock.now() + LOOK).await;
    }
    stages.iter_mut().for_each(|stage| stage.look(clock.now()));
}

/// One crawl with everything it needs.
struct Stage<P> {
    kind: Kind,
    time_out: Duration,
    wanted: usize,
    shop: Shop,
    proxy: Option<P>,
    crawler: Crawler,
    began: Tick,
    ended: Option<Tick>,
    rungs: Vec<Sample>,
}

impl<P: Proxy> Stage<P> {
    async fn set<S, F>(kind: Kind, scene: &Scene, clock: &Clock, start: &S) -> io::Result<Stage<P>>
    where
        S: Fn(ProxySetup) -> F,
        F: Future<Output = io::Result<P>>,
    {
        let shop = Shop::open(scene.trade, clock).await?;
        let proxy = match scene.setup(kind, clock) {
            Some(setup) => Some(start(setup).await?),
            None => None,
        };
        let time_out = scene.time_out(kind);
        let plan = Plan {
            host: format!("{}:{}", Scene::HOST, shop.address().port()),
            route: match &proxy {
                Some(proxy) => Route::Proxy(proxy.address()),
                None => Route::Direct(shop.address()),
            },
            pages: scene.pages,
            at_once: scene.at_once,
            time_out: Some(time_out),
            retries: 0,
        };
        let crawler = Crawler::new(plan, clock);
        let (wanted, began) = (scene.pages, clock.now());
        let (ended, rungs) = (None, Vec::new());
        Ok(Stage { kind, time_out, wanted, shop, proxy, crawler, began, ended, rungs })
    }

    fn look(&mut self, now: Tick) {
        if let Some(proxy) = &self.proxy {
            self.rungs.push(Sample { at: now, rung: proxy.rung(Scene::HOST) });
        }
    }

    fn settled(&self) -> bool {
        let Some(proxy) = &self.proxy else { return true };
        match self.kind {
            Kind::Direct | Kind::Unpaced => true,
            Kind::Paced => proxy.rung(Scene::HOST).is_none(),
            Kind::Hasty => proxy.client_gone() > 0 && !proxy.advice().is_empty(),
        }
    }

    fn run(&self) -> Run {
        let proxy = self.proxy.as_ref();
        Run {
            kind: self.kind,
            time_out: self.time_out,
            wanted: self.wanted,
            began: self.began,
            ended: self.ended,
            pages: self.crawler.pages(),
            visits: self.shop.visits(),
            rungs: self.rungs.clone(),
            allowed: proxy.map(Proxy::allowed).unwrap_or_default(),
            client_gone: proxy.map(Proxy::client_gone).unwrap_or_default(),
            advice: proxy.map(Proxy::advice).unwrap_or_default(),
        }
    }
}

/// Between two looks at the rungs: well under the shortest pace.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_A_FRAME: u32 = 5;
/// How long rows and departures may take after the last crawl.
const SETTLE: Duration = Duration::from_secs(2);
