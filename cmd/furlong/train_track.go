package main

import (
	"context"
	"path/filepath"
	"time"

	"furlong/metrics"
	rundir "furlong/metrics/run"
	"furlong/track/prometheus"
	"furlong/track/wandb"
)

// trackFlags say who else gets the figures of a run. TensorBoard's files are written in any case.
type trackFlags struct {
	Wandb      wandb.Options
	Prometheus prometheus.Options
}

func defaultTrack() trackFlags { return trackFlags{wandb.Default(), prometheus.Default()} }

// trackers are those who get them.
type trackers struct {
	shown *prometheus.Server
	wandb *wandb.Tracker
}

// scraped begins to show figures, if that was asked for. It comes before the run's directory, so that a port that is taken leaves none behind.
func (j *job) scraped() (err error) {
	if !j.f.track.Prometheus.Use {
		return nil
	}
	if j.shown, err = prometheus.Serve(j.f.track.Prometheus, filepath.Base(j.runDir()), j.log); err != nil {
		return err
	}
	j.log.Info("figures for prometheus", "at", j.shown.Address())
	return nil
}

// seen passes a row on.
func (j *job) seen(r metrics.Row) {
	if j.shown != nil {
		j.shown.Take(r)
	}
}

// followed has the run's rows given to Weights & Biases, if that was asked for. Without its client the run goes on: a later start gives them all.
func (j *job) followed(ctx context.Context) {
	if !j.f.track.Wandb.Use || j.f.track.Wandb.Mode == "disabled" {
		return
	}
	t, err := wandb.Start(ctx, j.f.track.Wandb, j.dir.Path(), filepath.Base(j.dir.Path()), j.log)
	if err != nil {
		j.log.Warn("weights & biases gets no figures", "error", err.Error(), "file", filepath.Join(j.dir.Path(), rundir.RowsFile))
		return
	}
	j.wandb = t
	j.log.Info("weights & biases follows", "at", t.Where)
}

// untrack ends what tells others of the run.
func (j *job) untrack(ctx context.Context) {
	if j.wandb != nil {
		if err := j.wandb.Close(2 * time.Minute); err != nil {
			j.log.Warn("the last figures may be missing", "error", err.Error())
		}
	}
	if j.shown != nil {
		_ = j.shown.Close(ctx) // a scrape that is cut off is made again by who wants it
	}
}
