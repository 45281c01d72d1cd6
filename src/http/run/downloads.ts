import { LruMap } from '../../base/lru-map.ts'
import { randomHex } from '../../base/random-hex.ts'
import { AppError } from '../../contract/errors.ts'
import type { Principal } from '../../contract/principal.ts'
import type { Lifecycle, LoadRequest } from '../../contract/server/lifecycle.ts'
import type { DownloadJob } from '../../dialect/lm-studio/downloads.ts'

const maxJobs = 100

/** The last downloads that clients ask after. */
export class Downloads {
  readonly #jobs = new LruMap<string, DownloadJob>({ max: maxJobs })

  /** Begins a download. Rejects for a model that cannot be found. */
  async begin(lifecycle: Lifecycle, wanted: LoadRequest, principal: Principal): Promise<DownloadJob> {
    const { signal } = new AbortController()
    await lifecycle.find(wanted, signal)
    const id = `job_${randomHex()}`
    let job: DownloadJob = { id, startedAtMs: Date.now(), state: 'downloading', doneBytes: 0, totalBytes: 0 }
    const update = (change: Partial<DownloadJob>) => {
      job = { ...job, ...change }
      this.#jobs.set(id, job)
    }
    update({})
    const onProgress: Parameters<Lifecycle['load']>[1]['onProgress'] = ({ phase, doneBytes, totalBytes }) => {
      if (phase === 'downloading') update({ doneBytes, totalBytes })
    }
    lifecycle.load(wanted, { principal, signal, onProgress }).then(
      () => update({ state: 'completed', doneBytes: job.totalBytes, endedAtMs: Date.now() }),
      (error: unknown) => update({ state: 'failed', endedAtMs: Date.now(), error: AppError.from(error) }),
    )
    return job
  }

  find(id: string): DownloadJob | undefined {
    return this.#jobs.get(id)
  }
}
