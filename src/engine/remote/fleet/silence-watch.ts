import type { Logger } from 'pino'
import { hostOf } from '../../../base/text/server-url.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { runCheck } from './health-check.ts'
import { Silence, type SilenceOptions, type SilentRequest, silenceTickMs, type WatchedRequest } from './silence/silence.ts'

type SilenceWatchOptions = Omit<Parameters<typeof runCheck<Endpoint>>[0], 'pool' | 'timeoutMs'> &
  Pick<SilenceOptions, 'stalledMs' | 'isEjected' | 'onMute' | 'report'> & {
    /** The model's name in the log. */
    readonly model: string
    readonly log: Logger
    readonly stopped: AbortSignal
    readonly client: Pick<UpstreamClient, 'metrics'>
    /** The names of the metrics that change while the engine of a replica works. */
    workMetricsOf(replicaId: string): readonly string[] | undefined
    /** Uses the replica only if no other may be used. */
    avoid(replicaId: string, untilMs: number): void
  }

/** A busy server may be late. One that is silent for longer, three times in a row, is lost. */
const silentAfterMs = 2500

/** `Silence` with its health checks, and with ticks while it watches something. */
export class SilenceWatch extends Silence {
  #ticking: NodeJS.Timeout | undefined

  constructor({
    model,
    log,
    stopped,
    isEjected,
    stalledMs,
    onMute,
    client,
    workMetricsOf,
    report,
    avoid,
    ...checking
  }: SilenceWatchOptions) {
    const { now } = checking
    super({
      now,
      isEjected,
      stalledMs,
      onMute,
      readWork: async (endpoint) => {
        const names = workMetricsOf(endpoint.id)
        if (names === undefined) return undefined
        const ended = new AbortController()
        const cancelLimit = checking.after(silentAfterMs, () => ended.abort())
        // A server that does not report them now is judged without them.
        const lines = await client.metrics(endpoint, names, ended.signal).catch(() => [])
        cancelLimit()
        return lines.length === 0 ? undefined : lines.join()
      },
      report,
      check: async (endpoint) => {
        let result: boolean | undefined
        const reportCheck = (_: string, isOk: boolean) => {
          result = isOk
        }
        const check = { endpoint, ended: new AbortController(), stopped }
        await runCheck({ pool: { reportCheck }, timeoutMs: silentAfterMs, ...checking }, check)
        return result
      },
      onMove: ({ url }, waitedMs) => {
        log.warn({ model, server: hostOf(url), waitedMs: Math.round(waitedMs) }, 'request moved from a silent server')
      },
      onDoubt: (id) => avoid(id, now() + 2 * silenceTickMs),
    })
  }

  override watch(request: SilentRequest): WatchedRequest {
    this.#ticking ??= setInterval(() => this.#tick(), silenceTickMs).unref()
    return super.watch(request)
  }

  close(): void {
    clearInterval(this.#ticking)
    this.#ticking = undefined
  }

  #tick(): void {
    this.tick()
    if (this.isIdle) this.close()
  }
}
