// The event stream of a run, open only while the page is visible. Its rows are a sign to ask for what is shown again: the server chooses and averages.

export class Live {
  // f has rows(n), head(head), gone(), reset(), state(word) and ask, which gives the head.
  constructor(base, at, f) {
    Object.assign(this, { base, at, f, fresh: 0, closed: false });
    this.visibility = () => (document.hidden ? this.hide() : this.open());
    document.addEventListener("visibilitychange", this.visibility);
    this.visibility();
  }

  open() {
    clearInterval(this.poll);
    if (this.closed || this.source) return;
    const s = (this.source = new EventSource(`${this.base}/events${this.at ? `?from=${encodeURIComponent(this.at)}` : ""}`));
    s.addEventListener("open", () => {
      this.f.state("live");
      if (this.lost) this.again();
      this.lost = false;
    });
    s.addEventListener("error", () => {
      this.lost = true;
      this.f.state("lost");
      if (s.readyState === EventSource.CLOSED) this.retry(s);
    });
    s.addEventListener("row", (e) => this.row(e));
    s.addEventListener("alarm", (e) => { this.at = e.lastEventId || this.at; });
    s.addEventListener("head", (e) => this.f.head(JSON.parse(e.data)));
    s.addEventListener("reset", () => { this.at = ""; this.f.reset(); });
    s.addEventListener("gone", () => this.f.gone());
  }

  // again asks for everything after a break, since a server that was started anew may count from elsewhere.
  again() {
    this.f.ask().then((h) => { this.f.head(h); this.f.rows(0); }, () => {});
  }

  retry(s) {
    s.close();
    this.source = null;
    setTimeout(() => !document.hidden && this.open(), 1000);
  }

  row(e) {
    this.at = e.lastEventId || this.at;
    this.fresh++;
    if (this.timer) return;
    this.timer = setTimeout(() => {
      this.timer = 0;
      const n = this.fresh;
      this.fresh = 0;
      this.f.rows(n);
    }, 300);
  }

  hide() {
    this.shut();
    this.poll = setInterval(() => this.f.ask().then((h) => this.f.head(h), () => {}), 30000);
  }

  shut() {
    this.source?.close();
    this.source = null;
  }

  close() {
    this.closed = true;
    this.shut();
    clearInterval(this.poll);
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.visibility);
  }
}
