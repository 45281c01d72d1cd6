import { type Emit, inTurn, WatchedEmit } from '../../base/emit.ts'
import { orAborted } from '../../base/time-limit.ts'
import { functionTools } from '../../canonical/callable-tools.ts'
import type { CallOrigin } from '../../contract/call-origin.ts'
import type { CallerKeys } from '../../contract/caller-keys.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { GrammarCompiler } from '../../threads/grammar-compiler.ts'
import type { CheckedRequest } from './check-request.ts'
import { countUsage } from './count-tokens.ts'
import type { ExpectedLoad } from './expected-load.ts'
import type { AcquiredReplica } from './fleet/acquired-replica.ts'
import type { AffinityKey } from './fleet/affinity/affinity.ts'
import type { ReplicaAttempt } from './fleet/attempts/movable-attempt.ts'
import { type AttemptResult, type ReplicaTask, type RetryDeps, tryReplicas } from './fleet/attempts/try-replicas.ts'
import { type ReplyFacts, replyFacts } from './fleet/attempts/watch-attempt.ts'
import type { Progress } from './fleet/retry/retry-rule.ts'
import { isHeld, type OwnPrompts } from './own-prompts.ts'
import { clientOf } from './servers/call-headers.ts'
import { type CountedRequest, checkUpstream, type SentRequest } from './servers/check-upstream.ts'
import { loadRequestHeaders, reportInHeaders } from './servers/load-report.ts'
import type { Profile } from './servers/profile.ts'
import type { Upstream } from './servers/upstream.ts'
import type { UpstreamClient } from './transport/client.ts'
import type { ReplyBody } from './transport/http-exchange.ts'
import { readStream, type StreamEnd } from './transport/read-reply.ts'
import { toAppError, UpstreamError } from './transport/upstream-error.ts'
import type { UpstreamBody } from './wire/body/chat-body.ts'
import { continued, type ReplySoFar, requestBody } from './wire/body/request-body.ts'
import type { LeftThoughts } from './wire/reply/left-thoughts.ts'
import { ReplyReader } from './wire/reply/reply-reader.ts'
import { sendConstrained } from './wire/send-constrained.ts'
import { sendFolded } from './wire/send-folded.ts'

export type GenerationDeps = RetryDeps & {
  readonly expected: ExpectedLoad
  /** Requests prefer replicas that have seen their prompts. */
  readonly hasAffinity: boolean
  readonly client: UpstreamClient
  readonly grammars: Pick<GrammarCompiler, 'compile'>
  readonly thoughts: Pick<LeftThoughts, 'learn'>
  readonly prompts: Pick<OwnPrompts, 'learnsFrom' | 'canWrite' | 'continuedAsText'>
  /** The headers that tell this replica where a request comes from. */
  headersOf(
    request: Pick<GenerationRequest, 'origin'> & Partial<Pick<GenerationRequest, 'prompt' | 'forwarded'>>,
    replica: Pick<ReplicaAttempt, 'endpoint' | 'upstream' | 'trace'>,
  ): Readonly<Record<string, string>>
}

/** One upstream request, with its repetitions and continuations on other replicas. */
export type ReplyPlan = CountedRequest & {
  /** The template that the server reports. */
  readonly chatTemplate: string | undefined
  /** The number of the reply's first choice. */
  readonly firstChoice: number
  readonly affinityKeys: readonly AffinityKey[]
  /** The likely cost, and the prompt's part of it. */
  readonly tokens: number
  readonly promptTokens: number
  /** The result of checking this very request. Absent for a request derived from the checked one. */
  readonly checked?: CheckedRequest
}

/** The recipient of a reply's events, and the signal that they are no longer wanted. */
export type ReplySink = {
  readonly signal: AbortSignal
  readonly emit: Emit<EngineEvent>
  /** Counts tokens that a server sent after the request was cancelled. */
  onTokensAfterCancel(count: number): void
}

/** `one-choice-only`: nothing was sent, because the replica's kind makes one choice per request. */
type ReplyEnd = 'done' | 'one-choice-only' | MissingChoices

/** The reply is complete except for these choices: the server ignores `n`. */
type MissingChoices = { readonly missing: readonly number[] }

/**
 * Sends the request to a replica, or to another one if that fails before the first event. Has a reply that breaks off later continued if
 * possible. The last event is `usage`; every failure rejects.
 */
export function generateReply(deps: GenerationDeps, plan: ReplyPlan, sink: ReplySink): Promise<ReplyEnd> {
  const task = new ReplyTask(deps, plan, sink)
  return tryReplicas(deps, task).catch((error: unknown) => {
    if (sink.signal.aborted || !task.isContinuation) throw error
    deps.replicas.throwIfClosed()
    throw notContinued(error)
  })
}

class ReplyTask implements ReplicaTask<ReplyEnd> {
  readonly #deps: GenerationDeps
  readonly #plan: ReplyPlan
  readonly #sink: ReplySink
  readonly #emit: WatchedEmit<EngineEvent>
  readonly signal: AbortSignal
  readonly isAuxiliary = false
  #reader: ReplyReader | undefined
  /** A server could not parse what the model wrote: it gets what is left as text. */
  #isUnread = false
  #reply: ReplyBody | undefined

  constructor(deps: GenerationDeps, plan: ReplyPlan, sink: ReplySink) {
    this.#deps = deps
    this.#plan = plan
    this.#sink = sink
    this.#emit = new WatchedEmit(sink.emit)
    this.signal = sink.signal
  }

  get tokens(): number {
    return this.#plan.tokens
  }

  get affinityKeys(): readonly AffinityKey[] {
    return this.#plan.affinityKeys
  }

  get promptTokens(): number {
    return this.#plan.promptTokens
  }

  client(): string {
    return clientOf(this.#plan.request)
  }

  get callerKeys(): CallerKeys | undefined {
    return this.#plan.request.callerKeys
  }

  get origin(): CallOrigin | undefined {
    return this.#plan.request.origin
  }

  /** A replica was to continue a reply that another one had begun. */
  get isContinuation(): boolean {
    return this.#reader?.isResumed === true && !this.#emit.hasFailed
  }

  async attempt(replica: ReplicaAttempt): Promise<AttemptResult<ReplyEnd>> {
    const { request } = this.#plan
    const { endpoint, upstream } = replica
    if (request.choices > 1 && !makesChoices(upstream.profile, request)) return { type: 'not-sent', value: 'one-choice-only' }
    if (replica.affinity !== undefined) request.origin?.onPlaced?.(replica.affinity)
    const reader = this.#readerFor(upstream.profile)
    this.#reply = undefined
    const exchange = async (written: Upstream) => {
      const reply = await sendFolded(request, upstream, async (folded) => {
        const writing = this.#bodyFor(folded, written, reader)
        return await this.#send(replica, writing instanceof Promise ? await writing : writing)
      })
      return await this.#read(reader, replica, reply)
    }
    const end = await sendConstrained(request, upstream, exchange, () => reader.hasBegun)
    this.signal.throwIfAborted()
    if (reader.thoughtsCome !== undefined) this.#deps.thoughts.learn(upstream, reader.thoughtsCome)
    const { missing } = reader
    if (!reader.isFinished && missing.length === 0) throw unfinished(end)
    const access = { client: this.#deps.client, endpoint, upstream, signal: this.signal }
    const ending = reader.end(() => countUsage(access, request, reader.pieces))
    const last = ending instanceof Promise ? await ending : ending
    const named: Emit<EngineEvent> = (event) =>
      this.#emitWanted(event.type === 'usage' ? { servedBy: endpoint.id, ...event } : event)
    const pending = inTurn(last, named)
    if (pending !== undefined) await pending
    const facts = replyFacts(last)
    this.#learn(replica, facts)
    return { type: 'answered', value: missing.length === 0 ? 'done' : { missing }, facts }
  }

  /** Records the cost of the reply. A continued reply says nothing about the original request. */
  #learn(replica: ReplicaAttempt, { usage }: ReplyFacts): void {
    if (usage === undefined || this.#reader?.isResumed === true) return
    replica.learn(usage.inputTokens, usage.cachedInputTokens)
    this.#deps.expected.learn(this.#plan.request, usage)
  }

  progress({ upstream }: AcquiredReplica): Progress | undefined {
    const reader = this.#reader
    if (reader === undefined || this.#emit.hasFailed) return undefined
    const canContinue = this.#remaining(this.#plan.request, upstream) !== undefined
    return { hasAdvanced: reader.pieces > 0, hasBegun: reader.hasBegun, canContinue }
  }

  received(): number {
    return this.#reply?.receivedBytes ?? 0
  }

  /** Creates a new reader until the reply has begun: the next replica may be of another kind. */
  #readerFor(profile: Profile): ReplyReader {
    const { request, firstChoice } = this.#plan
    if (this.#reader?.hasBegun === true) this.#reader.resume(profile)
    else this.#reader = new ReplyReader({ profile, request, choices: request.choices, firstChoice })
    return this.#reader
  }

  /** The body for this upstream: as prepared, written anew, or for the rest of a reply that has begun. */
  #bodyFor(given: SentRequest, upstream: Upstream, reader: ReplyReader): UpstreamBody | Promise<UpstreamBody> {
    const plan = { ...this.#plan, request: given }
    const { checked, inputTokens } = plan
    // A probe that finds something new replaces the upstream and never changes it. So for the same object, the check still holds.
    const refusal = checked?.refusals.get(upstream)
    if (refusal !== undefined) throw refusal
    if (!reader.hasBegun) {
      if (checked?.upstream === upstream && given === this.#plan.request) return checked.body
      checkUpstream(plan, upstream)
      return requestBody(plan.request, upstream, this.#deps.grammars)
    }
    const rest = this.#remaining(plan.request, upstream)
    if (rest === undefined) throw cannotContinue(upstream)
    const { prompts, grammars } = this.#deps
    const bodyOf = (request: SentRequest) => {
      // The reply so far has become a part of the prompt.
      const promptTokens = inputTokens === undefined ? undefined : inputTokens + reader.outputTokens
      checkUpstream({ ...plan, request, inputTokens: promptTokens }, upstream)
      return requestBody(request, upstream, grammars)
    }
    if (!this.#isUnread && isPlain(reader.continuable)) return bodyOf(rest)
    return prompts.continuedAsText(rest, plan.chatTemplate, this.signal).then(({ request, outputFormat, written }) => {
      if (!reader.readsOnAsText(outputFormat, written)) throw cannotContinue(upstream)
      return bodyOf(request)
    })
  }

  /** The remaining request after the reply so far. Undefined if the upstream cannot continue it. */
  #remaining(request: GenerationRequest, upstream: Upstream): GenerationRequest | undefined {
    const reply = this.#reader?.continuable
    // Servers treat a thought or a call at the end of a conversation in different ways; as text it is what the model wrote.
    const goesAsText = this.#isUnread || this.#deps.prompts.canWrite(request, this.#plan.chatTemplate)
    if (reply === undefined || (!isPlain(reply) && !goesAsText)) return undefined
    if (reply.calls.length > 0 && holdsCalls(request)) return undefined
    return continued(request, { ...reply, outputTokens: this.#reader?.outputTokens ?? 0 }, upstream)
  }

  async #send(replica: ReplicaAttempt, request: Pick<UpstreamBody, 'path' | 'body'>): Promise<ReplyBody> {
    const { head, below, reportsLoad } = replica.upstream.profile
    const usual = this.#deps.headersOf(this.#plan.request, replica)
    const headers = reportsLoad ? { ...usual, ...loadRequestHeaders } : usual
    const sent = { method: 'POST', head, below, headers, ...request } as const
    const { body, headers: heads } = await this.#deps.client.stream(replica.endpoint, sent, replica.signal)
    const load = reportsLoad ? reportInHeaders(heads) : undefined
    if (load !== undefined) replica.reportLoad(load)
    this.#reply = body
    return body
  }

  async #read(reader: ReplyReader, replica: ReplicaAttempt, reply: ReplyBody): Promise<StreamEnd> {
    let hasToken = false
    let emitting: Promise<void> | undefined
    const take = (value: unknown) => {
      // A request that has moved reads the same text from another replica: the rest of these bytes must be dropped.
      replica.signal.throwIfAborted()
      const events = reader.read(value)
      // Progress reports of a prompt count, too.
      replica.confirm()
      if (!hasToken && reader.pieces > 0) {
        hasToken = true
        replica.begun()
      }
      emitting = inTurn(events, this.#emitWanted)
      return emitting
    }
    try {
      return await readStream(reply, take, () => reader.isCut)
    } catch (error) {
      const { request, chatTemplate } = this.#plan
      this.#isUnread ||= reader.hasBegun && this.#deps.prompts.learnsFrom(request, chatTemplate, error)
      // After the finish reason, at most the usage is missing.
      if (this.signal.aborted || !(error instanceof UpstreamError) || !reader.isFinished) throw error
      return { saidDone: false }
    } finally {
      // Emitted events count as received, so the next replica's text comes after them.
      if (emitting !== undefined && !this.signal.aborted) await orAborted(emitting, this.signal).catch(() => undefined)
      if (reply.lateEvents > 0 && this.signal.aborted) this.#sink.onTokensAfterCancel(reply.lateEvents)
    }
  }

  /** Drops the events of the chunk in which the request was cancelled, too. */
  readonly #emitWanted: Emit<EngineEvent> = (event) => {
    this.signal.throwIfAborted()
    return this.#emit.emit(event)
  }
}

function makesChoices({ choices, refusesEqualChoices }: Profile, { sampling }: GenerationRequest): boolean {
  return choices && !(refusesEqualChoices === true && sampling.temperature === 0)
}

function isPlain(reply: ReplySoFar | undefined): boolean {
  return reply !== undefined && reply.thought === '' && reply.calls.length === 0
}

/** The server holds calls to their schemas, which it could not do in the middle of one. */
function holdsCalls({ prompt, toolChoice }: GenerationRequest): boolean {
  if (prompt.type !== 'chat' || toolChoice.type === 'required') return true
  return functionTools(prompt.tools).some(isHeld)
}

function unfinished({ saidDone }: StreamEnd): UpstreamError {
  const message = 'the server behind this model ended its answer without saying how it finished'
  return new UpstreamError({ type: 'incomplete', saidDone }, message)
}

function cannotContinue({ profile }: Upstream): AppError {
  return new AppError('unsupported-field', `a server of this kind (${profile.name}) cannot continue an answer`)
}

/** The request was accepted once, so it is not at fault, no matter what the last replica reports. */
function notContinued(error: unknown): AppError {
  const { message } = toAppError(error)
  return new AppError('upstream-failed', `the server behind this model broke off, and no other could continue: ${message}`, {
    cause: error,
  })
}
