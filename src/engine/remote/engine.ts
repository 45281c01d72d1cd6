import { randomBytes } from 'node:crypto'
import { ActiveRuns } from '../../base/active-runs.ts'
import { WatchedSet } from '../../base/watched-set.ts'
import { mergeSampling } from '../../canonical/merge-sampling.ts'
import type { CallerKeys } from '../../contract/caller-keys.ts'
import type {
  DrainedServer,
  Engine,
  EngineCapabilities,
  EngineFacts,
  EngineState,
  PreparedGeneration,
} from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { GenerationRequest } from '../../contract/request.ts'
import type { ServiceKind, Services } from '../../contract/services.ts'
import { GrammarCompiler } from '../../threads/grammar-compiler.ts'
import { TemplateReader } from '../../threads/template-reader.ts'
import { answerCompiler } from '../constraint/answer-compiler.ts'
import { ObservedState } from '../shared/observed-state.ts'
import { TokensAfterCancel } from '../shared/tokens-after-cancel.ts'
import { type AdaptedRequest, adaptRequest, withAdapters } from './adapt-request.ts'
import { compileAnswer, findFront, hasForeignTags, needsFront, startsInThought } from './answer-front.ts'
import { atEdge, failAtEdge } from './at-edge.ts'
import { checkRequest, enforcementOf } from './check-request.ts'
import { countInput, needsCount } from './count-tokens.ts'
import { fixedSource } from './endpoints/source.ts'
import { ExpectedLoad } from './expected-load.ts'
import { factsOf } from './facts-of.ts'
import { callerAccess } from './fleet/attempts/caller-access.ts'
import type { ReplicaAttempt } from './fleet/attempts/movable-attempt.ts'
import { noProgress, type ReplicaTask, tryReplicas } from './fleet/attempts/try-replicas.ts'
import { Replicas } from './fleet/replicas.ts'
import { RetryBudget } from './fleet/retry/retry-budget.ts'
import type { Progress } from './fleet/retry/retry-rule.ts'
import { toServerReport } from './fleet/server-report.ts'
import { generateChoices } from './generate-choices.ts'
import type { GenerationDeps } from './generate-reply.ts'
import { ignoredFields } from './ignored-fields.ts'
import type { RemoteEngineOptions } from './options.ts'
import { losesOutput, type OwnPrompt, OwnPrompts, type OwnRequest, refuseAsText, sentAsText } from './own-prompts.ts'
import { callHeaders } from './servers/call-headers.ts'
import { refuseUnreadable } from './servers/check-upstream.ts'
import { type Discovery, type UpstreamAccess, underTemplate } from './servers/upstream.ts'
import { createServices } from './services.ts'
import { namesWith } from './session-names.ts'
import { createTextCapabilities } from './text-capabilities.ts'
import { UpstreamClient } from './transport/client.ts'
import { toAppError } from './transport/upstream-error.ts'
import { LeftThoughts } from './wire/reply/left-thoughts.ts'
import { createReplyFormat } from './wire/reply/reply-format.ts'
import { readingFields } from './wire/reply/thought-parser.ts'

const retryLaterMs = 5000
/** One for all models: a template that was read once is known for each server that has it. */
const templates = new TemplateReader()
/** For callers that pass no key shared by several processes. */
const hashInProcess = namesWith(randomBytes(32))

/** An engine over one or more servers of the same model. */
export function createRemoteEngine(options: RemoteEngineOptions): Engine {
  return new RemoteEngine(options)
}

/** Lives from the first use of an engine until it is closed. */
type Session = GenerationDeps & {
  readonly replicas: Replicas
  readonly grammars: GrammarCompiler
  readonly answers: ReturnType<typeof answerCompiler>
  readonly prompts: OwnPrompts
  readonly thoughts: LeftThoughts
}

type OpenSession = { readonly session: Session; readonly discovery: Discovery }

/** `begun`: may be called when the first bytes of a long answer are there. */
type UpstreamCall<T> = (access: UpstreamAccess, begun: () => void) => Promise<T>
type Load = Pick<ReplicaTask<unknown>, 'tokens' | 'isAuxiliary' | 'callerKeys' | 'promptTokens' | 'call' | 'received'> &
  Pick<GenerationRequest, 'origin'> & { progress?(): Progress }

class RemoteEngine implements Engine {
  readonly #options: RemoteEngineOptions
  readonly #formatOf: ReturnType<typeof createReplyFormat>
  #session: Session | undefined
  readonly #late = new TokensAfterCancel()
  readonly #state = new ObservedState()
  readonly #active = new ActiveRuns()
  readonly #drains: WatchedSet<string>
  readonly capabilities: EngineCapabilities

  constructor(options: RemoteEngineOptions) {
    this.#options = options
    this.#drains = options.drains ?? new WatchedSet()
    this.#formatOf = createReplyFormat(options)
    const ask = <T>(signal: AbortSignal, call: UpstreamCall<T>) => atEdge(() => this.#ask(signal, call))
    const compute = <T>(load: Omit<Load, 'isAuxiliary' | 'progress'>, signal: AbortSignal, call: UpstreamCall<T>) =>
      atEdge(() => this.#callReplica({ ...load, isAuxiliary: false }, signal, call))
    const ownText: Parameters<typeof createTextCapabilities>[0]['ownText'] = (request, signal) =>
      atEdge(async () => (await this.#writeOwn(await this.#ensureOpen(signal), request, signal))?.text)
    this.capabilities = {
      ...createTextCapabilities({
        ownText,
        ask,
        compute,
        adapt: (request, signal) => atEdge(async () => this.#adapt(await this.#ensureOpen(signal), request, signal)),
      }),
      fleet: {
        replicas: () => (this.#session?.replicas.describe() ?? []).map(toServerReport),
        setDraining: (server, isDraining, signal) => atEdge(() => this.#setDraining(server, isDraining, signal)),
      },
      ...(options.services !== undefined && { services: this.#createServices(options.services) }),
    }
  }

  /** Health checks run independently: a failed engine becomes ready when one of its servers is back. */
  get state(): EngineState {
    return this.#state.current
  }

  get onState(): Engine['onState'] {
    return this.#state.observe
  }

  get facts(): EngineFacts {
    const { contextLength, adapters, sampling } = this.#options
    return {
      ...factsOf(this.#session?.replicas, contextLength),
      ...this.#session?.prompts.facts,
      ...(adapters !== undefined && { adapters }),
      ...(sampling !== undefined && { sampling }),
    }
  }

  get tokensAfterCancel(): number {
    return this.#late.total
  }

  ensureReady(signal: AbortSignal): Promise<void> | undefined {
    const { prompts, replicas } = this.#session ?? {}
    const isKnown = replicas?.discovery !== undefined || replicas?.isHolding === true
    if (this.#state.current.type === 'ready' && isKnown && prompts?.isRead === true) return undefined
    return atEdge(async () => {
      const session = this.#openSession(signal)
      await this.#reach(session, signal, async () => {
        await session.replicas.open(signal)
        // A model without servers is ready: its requests wait for one.
        if (!session.replicas.isHolding) await session.replicas.discover(signal)
      })
      await session.prompts.ensureRead()
    })
  }

  checkMedia(request: Pick<GenerationRequest, 'prompt'>): void {
    const { id, converter } = this.#options
    const replicas = this.#session?.replicas
    if (replicas?.discovery?.protocol === 'completions') refuseAsText(request, id)
    else if (replicas?.discovery !== undefined)
      refuseUnreadable(request, { model: id, upstreams: replicas.upstreams, makesFrames: converter !== undefined })
  }

  prepare(request: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    return this.#prepare(request, signal).catch(failAtEdge)
  }

  async unload({ drainMs }: { readonly drainMs: number }): Promise<void> {
    if (this.#session === undefined) return
    this.#state.current = { type: 'draining' }
    await this.#active.idleWithin(drainMs)
    await this.close()
  }

  async close(): Promise<void> {
    const session = this.#session
    this.#session = undefined
    this.#state.current = { type: 'stopped' }
    if (session === undefined) return
    // Closes the replicas first, so that running requests fail with their reason, not with that of the closed connection.
    const { replicas, client, grammars, answers, prompts } = session
    await Promise.all([replicas, client, grammars, answers, prompts].map((part) => part.close()))
  }

  async #prepare(given: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> {
    const opening = this.#ensureOpen(signal)
    const open = opening instanceof Promise ? await opening : opening
    const { session } = open
    const discovery = underTemplate(open.discovery, given.prompt)
    const { id, sampling } = this.#options
    const adapting = this.#adapt(open, given, signal)
    const adapted = adapting instanceof Promise ? await adapting : adapting
    const asIs = withAdapters(adapted, this.#options, session.replicas.upstreams)
    const asked = sampling === undefined ? asIs : { ...asIs, sampling: mergeSampling(sampling, asIs.sampling) }
    const { prompt } = asked
    const hasFront = needsFront(asked, session.replicas.upstreams)
    const endsThought = asked.output.type !== 'text' && !hasFront
    const writing = prompt.type === 'chat' ? this.#writeOwn(open, { endsThought, ...asked, prompt }, signal) : undefined
    const own = writing === undefined ? undefined : await writing
    const sent = own === undefined ? asked : sentAsText(asked, own)
    const ask: Parameters<typeof findFront>[1]['ask'] = (call) => this.#ask(signal, call, asked.callerKeys)
    const { chatTemplate, protocol, profile } = discovery
    const isForeign = protocol === 'chat' && hasForeignTags(chatTemplate, this.#options)
    const isLeft = own === undefined && session.thoughts.mayBegin(asked, session.replicas.upstreams)
    const find = () => findFront(asked, { own, ask, discovery, templates, settings: this.#options })
    const front = hasFront || isForeign ? await find() : isLeft ? await session.thoughts.frontOf(asked, find) : undefined
    const answer = own === undefined ? undefined : await compileAnswer(asked, { own, front, ...session }, signal)
    const fronted = { ...sent, ...(hasFront && { front }), ...(answer !== undefined && { answer }) }
    const format = own === undefined ? this.#formatOf(fronted, discovery) : own.outputFormat
    const startsInside = own === undefined && startsInThought(asked, { front, isForeign, isLeft, format, profile })
    const outputFormat = startsInside ? this.#formatOf(fronted, discovery, true) : format
    const request = { ...fronted, ...readingFields(fronted, protocol, outputFormat) }
    const inputTokens = needsCount(request, session.replicas.upstreams)
      ? await countInput(request, (call) => this.#ask(signal, call, request.callerKeys), signal)
      : undefined
    const counted = { request, model: id, inputTokens, chatTemplate }
    // Checked before a slot is taken, so that a request that no replica supports is refused immediately.
    const checking = checkRequest(counted, session)
    const checked = checking instanceof Promise ? await checking : checking
    return {
      ...(inputTokens !== undefined && { inputTokens }),
      ...ignoredFields(given, { upstreams: session.replicas.upstreams, converter: this.#options.converter }),
      ...(outputFormat !== undefined && { outputFormat }),
      // The minimum is in the request as sent, or the check has refused it.
      keepsMinimum: true,
      reportsPrompt: true,
      ...enforcementOf(checked.body, this.#options),
      takesServerFields: true,
      usesTemplate: true,
      ...(session.replicas.upstreams.some(({ profile }) => profile.takesOurGrammars) && { repeatsByGrammar: true }),
      ...(this.#usesKeys(session, request) && { usesCallerKeys: true }),
      run: async (signal, emit, late) => {
        const sink = { signal, emit, onTokensAfterCancel: this.#late.of(late) }
        this.#active.begin()
        try {
          await generateChoices(session, { checked, ...counted }, sink)
        } catch (error) {
          if (own === undefined && session.prompts.learnsFrom(given, chatTemplate, error))
            throw toAppError(error, { preparesAgain: true })
          failAtEdge(error)
        } finally {
          this.#active.end()
        }
      },
    }
  }

  async #setDraining(server: string, isDraining: boolean, signal: AbortSignal): Promise<readonly DrainedServer[]> {
    const { replicas } = this.#openSession(signal)
    await replicas.open(signal)
    return replicas.setDraining(server, isDraining)
  }

  #createServices(kinds: readonly ServiceKind[]): Services {
    const services = createServices({
      kinds: new Set(kinds),
      tryReplicas: ({ call: { callerKeys, origin, path }, size, attempt, progress, received }, signal) => {
        const load = { tokens: 1, promptTokens: size, call: path, isAuxiliary: false, callerKeys, progress, received }
        return this.#callReplica({ ...load, ...(origin && { origin }) }, signal, attempt)
      },
    })
    return {
      ...services,
      send: (...call) => this.#active.track(() => atEdge(() => services.send(...call))),
    }
  }

  #adapt<R extends AdaptedRequest>({ session, discovery }: OpenSession, request: R, signal: AbortSignal): R | Promise<R> {
    const { replicas, prompts } = session
    const { converter, separatesMedia } = this.#options
    return adaptRequest(request, { discovery, upstreams: replicas.upstreams, prompts, converter, separatesMedia }, signal)
  }

  /** Renders a conversation as text, for servers that accept nothing else or would drop something. */
  #writeOwn(open: OpenSession, request: OwnRequest, signal: AbortSignal): Promise<OwnPrompt | undefined> | undefined {
    const { prompts, replicas } = open.session
    const { protocol, chatTemplate } = open.discovery
    if (protocol === 'completions' || prompts.isSentAsText(request)) return prompts.write(request, chatTemplate, signal)
    return losesOutput(request, replicas.upstreams) ? prompts.tryWrite(request, chatTemplate, signal) : undefined
  }

  /** Whether the caller brings a key for one of the known replicas. */
  #usesKeys({ replicas }: Session, { callerKeys }: GenerationRequest): boolean {
    return callerKeys !== undefined && replicas.places.some((place) => callerAccess(callerKeys, place) !== undefined)
  }

  #ask<T>(signal: AbortSignal, call: UpstreamCall<T>, callerKeys?: CallerKeys): Promise<T> {
    return this.#callReplica({ tokens: 0, isAuxiliary: true, callerKeys }, signal, call)
  }

  /** A call that any replica may answer. */
  async #callReplica<T>(load: Load, signal: AbortSignal, call: UpstreamCall<T>): Promise<T> {
    const { session } = await this.#ensureOpen(signal)
    const { client } = session
    const attempt = async (replica: ReplicaAttempt) => {
      const { endpoint, upstream, signal, begun } = replica
      const headers = session.headersOf(load, replica)
      const value = await call({ client, endpoint, upstream, headers, signal }, begun)
      begun()
      return { type: 'answered', value } as const
    }
    return await tryReplicas(session, { affinityKeys: [], signal, attempt, progress: () => noProgress, ...load })
  }

  #ensureOpen(signal: AbortSignal): OpenSession | Promise<OpenSession> {
    const session = this.#openSession(signal)
    const { discovery, isHolding } = session.replicas
    if (discovery !== undefined && !isHolding) return { session, discovery }
    return this.#reach(session, signal, async () => ({ session, discovery: await session.replicas.discover(signal) }))
  }

  #openSession(signal: AbortSignal): Session {
    signal.throwIfAborted()
    if (this.#state.current.type === 'draining') throw draining(this.#options.id)
    this.#session ??= this.#open()
    return this.#session
  }

  /** Tries to reach the servers. On failure the model has failed, unless it has no servers at the moment. */
  async #reach<T>(session: Session, signal: AbortSignal, reach: () => Promise<T>): Promise<T> {
    try {
      return await reach()
    } catch (error) {
      if (!signal.aborted && this.#session === session && !session.replicas.isHolding) {
        this.#state.current = { type: 'failed', reason: toAppError(error).message, retryAtMs: performance.now() + retryLaterMs }
      }
      throw error
    }
  }

  #open(): Session {
    const { readTemplate, addsBos, toolFormat, reasoningTags, callsInReasoning } = this.#options
    const { id, connections, profile, protocol, upstreamModel, contextLength, log, probesAbilities = false } = this.#options
    const { now = () => performance.now(), random = Math.random, followsTemplate = false, observer } = this.#options
    const { router = 'auto', objectives = {}, hash = hashInProcess, affinity = {} } = this.#options
    const { endpoints, drainMs = 30_000, holdMs = 300_000 } = this.#options
    const source = 'follow' in endpoints ? endpoints : fixedSource(endpoints)
    const client = new UpstreamClient({ connections })
    this.#state.current = { type: 'starting' }
    // Called even without a server: requests wait for one.
    const onUsable = () => {
      if (this.#state.current.type === 'starting' || this.#state.current.type === 'failed')
        this.#state.current = { type: 'ready' }
    }
    const reportedTokens = () => this.#session?.replicas.discovery?.tokens
    const probe = { profile, protocol, upstreamModel, id, contextLength, templates, followsTemplate }
    return {
      client,
      replicas: new Replicas({
        source,
        drainMs,
        holdMs,
        drains: this.#drains,
        warmUp: this.#options.warmUp,
        checkNews: this.#options.checkNews,
        ejectionNews: this.#options.ejectionNews,
        stallMs: this.#options.stallMs,
        probe,
        client,
        log,
        probesAbilities,
        onDiscovered: onUsable,
        onEmpty: onUsable,
        observer,
        now,
        random,
        ...(affinity !== 'off' && { affinity }),
      }),
      grammars: new GrammarCompiler(),
      answers: answerCompiler(),
      prompts: new OwnPrompts({ id, readTemplate, reportedTokens, addsBos, toolFormat, reasoningTags, callsInReasoning }),
      headersOf: ({ origin, prompt, forwarded }, { endpoint, upstream, trace }) =>
        origin === undefined
          ? {}
          : callHeaders(
              { origin, trace, prompt, forwarded, endpoint, kind: upstream.profile.name },
              { router, objectives, hash },
            ),
      budget: new RetryBudget(),
      thoughts: new LeftThoughts(),
      expected: new ExpectedLoad(),
      hasAffinity: affinity !== 'off',
      observer,
      now,
      random,
    }
  }
}

function draining(id: string): AppError {
  return new AppError('shutting-down', `model '${id}' is being unloaded; try again later`)
}
