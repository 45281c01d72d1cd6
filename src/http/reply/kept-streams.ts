import { z } from 'zod'
import { ActiveRuns } from '../../base/active-runs.ts'
import type { Bus, Topic } from '../../contract/server/shared.ts'
import type { RunHandle } from '../../core/cancel/cancellations.ts'
import { FollowedLog } from '../../core/followed-log.ts'

/** The bytes of one stream; earlier ones leave. */
export const keptStreamBytes = 4 * 1024 * 1024
/** The bytes of all streams that have ended. */
const keptBytes = 64 * 1024 * 1024
/** Streams of one key. */
const keptPerOwner = 32
const keptMs = 300_000
/** In one answer between processes. */
const pieceBytes = 256 * 1024
const maxIdChars = 256

/** A stream that its client finds again by its own name for the conversation. */
export type KeptStream = {
  readonly id: string
  readonly owner: string
  readonly log: FollowedLog<Buffer>
  readonly startedAtMs: number
  endedAtMs?: number
  readonly handle: Pick<RunHandle, 'cancel'>
}

const summary = z.object({
  id: z.string(),
  isDone: z.boolean(),
  totalBytes: z.number(),
  startedAtMs: z.number(),
  endedAtMs: z.number().optional(),
})
/** A stream without its bytes. */
type StreamSummary = Readonly<z.output<typeof summary>>

const piece = z.object({ base64: z.string(), start: z.number(), next: z.number(), isDone: z.boolean() })
/** A part of a stream of another process. */
export type StreamPiece = Readonly<z.output<typeof piece>>

const question = z.object({
  /** `replace`: ends the stream of exactly this name. */
  ask: z.enum(['lookup', 'read', 'end', 'replace']),
  owner: z.string(),
  ids: z.array(z.string()),
  from: z.number(),
})
const answer = z.object({ streams: z.array(summary).optional(), piece: piece.optional() })
type Question = z.output<typeof question>
type Answer = z.output<typeof answer>
const topic: Topic<Question, Answer> = { name: 'kept-streams', message: question, answer }

type Options = {
  /** All processes with the same store, which keep streams of the same callers. */
  readonly everyone: Bus | undefined
  wallClock(): number
}

/**
 * The streams of running replies, and of those that ended a while ago. Their generation continues without a reader; a new stream of the same
 * name ends the one before.
 */
export class KeptStreams {
  readonly #options: Options
  /** By owner and name, the oldest first. */
  readonly #streams = new Map<string, KeptStream>()
  readonly #active = new ActiveRuns()

  constructor(options: Options) {
    this.#options = options
    void options.everyone?.subscribe(topic, (asked) => this.#answer(asked))
  }

  /** Keeps the stream of a request that names its conversation (`name`); undefined for others. Close it. */
  open(name: unknown, { owner, handle }: Pick<KeptStream, 'owner' | 'handle'>): KeptStream | undefined {
    if (typeof name !== 'string' || name === '' || name.length > maxIdChars) return undefined
    const id = name
    this.#endAll([this.#streams.get(keyOf({ owner, id }))])
    void this.#options.everyone?.publish(topic, { ask: 'replace', owner, ids: [id], from: 0 })
    const log = new FollowedLog<Buffer>({ maxSize: keptStreamBytes, sizeOf: ({ length }) => length })
    const stream: KeptStream = { id, owner, log, handle, startedAtMs: this.#options.wallClock() }
    this.#streams.set(keyOf(stream), stream)
    this.#active.begin()
    this.#trim(owner)
    return stream
  }

  /** The stream has ended; one without a byte is forgotten. */
  close(stream: KeptStream): void {
    stream.log.close()
    stream.endedAtMs = this.#options.wallClock()
    this.#active.end()
    if (stream.log.end === 0) this.#forget(stream)
    else {
      setTimeout(() => this.#forget(stream), keptMs).unref()
      this.#trim(stream.owner)
    }
  }

  /** The caller's stream of this name, or of this name and a model. */
  find(owner: string, id: string): KeptStream | undefined {
    return this.#matching(owner, [id]).at(-1)
  }

  /** Those that exist, in all processes. */
  async lookup(owner: string, ids: readonly string[]): Promise<readonly StreamSummary[]> {
    const here = this.#matching(owner, ids).map(summarize)
    const elsewhere = await this.#ask({ ask: 'lookup', owner, ids: [...ids], from: 0 })
    const all = [...here, ...elsewhere.flatMap(({ streams = [] }) => streams)]
    // A process that is reached in two ways answers twice.
    return [...new Map(all.map((stream) => [`${stream.startedAtMs} ${stream.id}`, stream])).values()]
  }

  /** A part of a stream of another process; undefined if none has it. */
  async readElsewhere(owner: string, id: string, from: number): Promise<StreamPiece | undefined> {
    const answers = await this.#ask({ ask: 'read', owner, ids: [id], from })
    return answers.find((given) => given.piece !== undefined)?.piece
  }

  /** Ends the generation of a stream, wherever it runs, and forgets the stream. */
  async end(owner: string, id: string): Promise<void> {
    this.#endAll(this.#matching(owner, [id]))
    await this.#ask({ ask: 'end', owner, ids: [id], from: 0 })
  }

  /** Whether all of them end within the time. */
  idleWithin(timeoutMs: number): Promise<boolean> {
    return this.#active.idleWithin(timeoutMs)
  }

  async #ask(asked: Question): Promise<readonly Answer[]> {
    return (await this.#options.everyone?.publish(topic, asked)) ?? []
  }

  #answer({ ask, owner, ids, from }: Question): Answer | undefined {
    if (ask === 'replace') {
      this.#endAll(ids.map((id) => this.#streams.get(keyOf({ owner, id }))))
      return undefined
    }
    const streams = this.#matching(owner, ids)
    const last = streams.at(-1)
    if (last === undefined) return undefined
    if (ask === 'end') {
      this.#endAll(streams)
      return undefined
    }
    return ask === 'lookup' ? { streams: streams.map(summarize) } : { piece: pieceOf(last.log, from) }
  }

  #endAll(streams: readonly (KeptStream | undefined)[]): void {
    for (const stream of streams) {
      if (stream === undefined) continue
      if (stream.endedAtMs === undefined) stream.handle.cancel('requested', stream.owner)
      this.#forget(stream)
    }
  }

  #matching(owner: string, ids: readonly string[]): readonly KeptStream[] {
    return [...this.#streams.values()].filter(
      (stream) => stream.owner === owner && ids.some((id) => stream.id === id || stream.id.startsWith(`${id}::`)),
    )
  }

  /** A later stream of the same name stays. */
  #forget(stream: KeptStream): void {
    if (this.#streams.get(keyOf(stream)) === stream) this.#streams.delete(keyOf(stream))
  }

  /** Forgets the oldest streams that have ended, of a key with too many and of a server with too many bytes. */
  #trim(owner: string): void {
    const ended = [...this.#streams.values()].filter(({ endedAtMs }) => endedAtMs !== undefined)
    const own = ended.filter((stream) => stream.owner === owner)
    for (const stream of own.slice(0, Math.max(0, own.length - keptPerOwner))) this.#forget(stream)
    let bytes = ended.reduce((sum, { log }) => sum + log.end - log.start, 0)
    for (const stream of ended) {
      if (bytes <= keptBytes) break
      bytes -= stream.log.end - stream.log.start
      this.#forget(stream)
    }
  }
}

function keyOf({ owner, id }: Pick<KeptStream, 'owner' | 'id'>): string {
  return JSON.stringify([owner, id])
}

function summarize({ id, log, startedAtMs, endedAtMs }: KeptStream): StreamSummary {
  const ended = endedAtMs !== undefined && { endedAtMs }
  return { id, isDone: endedAtMs !== undefined, totalBytes: log.end, startedAtMs, ...ended }
}

function pieceOf(log: FollowedLog<Buffer>, from: number): StreamPiece {
  const { items, skip } = log.read(from)
  const bytes = Buffer.concat(items).subarray(skip, skip + pieceBytes)
  const next = from + bytes.length
  return { base64: bytes.toString('base64'), start: log.start, next, isDone: log.isClosed && next >= log.end }
}
