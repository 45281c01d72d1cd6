import { LruMap } from '../../../../base/lru-map.ts'

type Signs = {
  /** When something last came of it: bytes of any reply, or work of its engine. */
  lifeMs: number
  /** When a part of an answer last came. */
  tokenMs: number
  /** Requests that it has lost since its last whole answer. */
  losses: number
  /** The numbers of its engine that change while that works, and when they were first and last read to be these. */
  work: { readonly numbers: string; readonly sinceMs: number; readMs: number } | undefined
}

const never = Number.NEGATIVE_INFINITY
/** More than a model has servers. Those that have left give way. */
const room = 20_000

/** When the replicas of a model last gave anybody something, and how many requests each of them has lost since. */
export class SignsOfLife {
  readonly #byReplica = new LruMap<string, Signs>({ max: room })
  /** The two replicas that gave a token last, the last one first. */
  #latest: readonly string[] = []

  noteBytes(replicaId: string, nowMs: number): void {
    this.#of(replicaId).lifeMs = nowMs
  }

  noteToken(replicaId: string, nowMs: number): void {
    const signs = this.#of(replicaId)
    signs.lifeMs = nowMs
    signs.tokenMs = nowMs
    if (this.#latest[0] !== replicaId) this.#latest = [replicaId, ...this.#latest.slice(0, 1)]
  }

  noteAnswer(replicaId: string): void {
    this.#of(replicaId).losses = 0
  }

  /** Notes the numbers of the replica's engine. Undefined: they are not known. */
  noteWork(replicaId: string, numbers: string | undefined, nowMs: number): void {
    const signs = this.#of(replicaId)
    const { work } = signs
    if (numbers === undefined) signs.work = undefined
    else if (work?.numbers === numbers) work.readMs = nowMs
    else {
      if (work !== undefined) signs.lifeMs = nowMs
      signs.work = { numbers, sinceMs: nowMs, readMs: nowMs }
    }
  }

  /** When the replica last gave anybody something. */
  lastMs(replicaId: string): number {
    return this.#byReplica.get(replicaId)?.lifeMs ?? never
  }

  /** For how long after this time its engine is known to have done nothing. */
  stillMs(replicaId: string, afterMs: number): number {
    const work = this.#byReplica.get(replicaId)?.work
    return work === undefined ? 0 : work.readMs - Math.max(work.sinceMs, afterMs)
  }

  /** Whether another replica has given a token since then. */
  hasOther(replicaId: string, sinceMs: number): boolean {
    const other = this.#latest.find((id) => id !== replicaId)
    return other !== undefined && (this.#byReplica.get(other)?.tokenMs ?? never) >= sinceMs
  }

  /** Counts a lost request. Returns how many the replica has lost in a row. */
  countLoss(replicaId: string): number {
    const signs = this.#of(replicaId)
    signs.losses += 1
    return signs.losses
  }

  forget(replicaId: string): void {
    this.#byReplica.delete(replicaId)
  }

  #of(replicaId: string): Signs {
    return this.#byReplica.find(replicaId, () => ({ lifeMs: never, tokenMs: never, losses: 0, work: undefined }))
  }
}
