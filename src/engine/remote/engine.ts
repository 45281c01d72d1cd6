import type { Logger } from 'pino'
import type { Emit } from '../../contract/emit.ts'
import type { Engine, EngineFacts, EngineState, PreparedGeneration } from '../../contract/engine.ts'
import { AppError } from '../../contract/errors.ts'
import type { EngineEvent } from '../../contract/event.ts'
import { mergeSampling } from '../../contract/merge-sampling.ts'
import type { GenerationRequest, Sampling } from '../../contract/request.ts'
import { GrammarMaker } from '../../threads/grammar-maker.ts'
import { checkRequest } from './check-request.ts'
import { estimateTokens } from './estimate-tokens.ts'
import { type Place, Replicas } from './fleet/replicas.ts'
import { toServerReport } from './fleet/server-report.ts'
import { type Errand, noProgress, tryServers } from './fleet/try-servers.ts'
import { runChoices } from './run-choices.ts'
import type { RunDeps, RunPlan } from './run-request.ts'
import type { CountedRequest } from './servers/check-upstream.ts'
import type { ProfileName } from './servers/profiles.ts'
import type { Discovery, Upstream, UpstreamAccess } from './servers/upstream.ts'
import { type Endpoint, UpstreamClient } from './transport/client.ts'
import { withTimeLimit } from './transport/time-limit.ts'
import { toAppError, UpstreamError } from './transport/upstream-error.ts'
import { embedRemotely, queryOf, rankRemotely } from './wire/embeddings.ts'
import { createReplyFormat } from './wire/reply-format.ts'
import { detokenizeRemotely, renderRemotely, tokenizeRemotely } from './wire/tokenizer.ts'

export type RemoteEngineOptions = {
  readonly id: string
  readonly endpoints: readonly (Omit<Endpoint, 'id'> & { readonly id?: string })[]
  /** Absent: the servers are probed. */
  readonly profile?: ProfileName
  /** What the servers call the model; absent: as we do, or whatever they have. */
  readonly upstreamModel?: string
  readonly contextLength?: number
  /** How calls look that a server left in its text; absent: as the model's template says, if the server tells it. */
  readonly toolFormat?: string
  /** What holds where a request says nothing. */
  readonly sampling?: Sampling
  /** The most that a request may take, with all that is tried for it; absent: as long as it takes. */
  readonly deadlineMs?: number
  /** Requests that are under way at once. */
  readonly connections: number
  /** Whether servers of unknown kind are probed with small requests; false by default. */
  readonly probesAbilities?: boolean
  readonly log: Logger
  now?(): number
  random?(): number
}

const retryLaterMs = 5000

/** An engine over one or more OpenAI-compatible servers of the same model. */
export function createRemoteEngine(options: RemoteEngineOptions): Engine {
  const { id, log, now = () => performance.now(), random = Math.random } = options
  const endpoints = options.endpoints.map((endpoint) => ({ id: endpoint.url, ...endpoint }))
  const formatOf = createReplyFormat(options.toolFormat)
  let session: Session | undefined
  let tokensAfterCancel = 0
  const onLateTokens = (count: number) => {
    tokensAfterCancel += count
  }

  const open = (): Session => {
    const client = new UpstreamClient({ connections: options.connections })
    const { profile, upstreamModel, contextLength } = options
    const probe = { profile, upstreamModel, id, contextLength }
    const replicas = new Replicas({
      endpoints,
      probe,
      client,
      log,
      probesAbilities: options.probesAbilities ?? false,
      now,
      random,
    })
    return { client, replicas, grammars: new GrammarMaker(), failure: undefined }
  }
  const ensureOpen = (signal: AbortSignal): Opened | Promise<Opened> => {
    signal.throwIfAborted()
    session ??= open()
    const discovery = session.replicas.discovery
    return discovery === undefined ? discover(session, signal) : { session, discovery }
  }
  const discover = async (current: Session, signal: AbortSignal): Promise<Opened> => {
    try {
      return { session: current, discovery: await current.replicas.discover(signal) }
    } catch (error) {
      if (!signal.aborted) {
        current.failure = { type: 'failed', reason: toAppError(error).message, retryAtMs: Date.now() + retryLaterMs }
      }
      throw error
    }
  }
  const turnTo = async <T>(errand: SideErrand, exchange: (access: UpstreamAccess) => Promise<T>): Promise<T> => {
    const { signal } = errand
    const { session: current } = await ensureOpen(signal)
    const { client, replicas } = current
    const run = ({ endpoint, upstream }: Place) => exchange({ client, endpoint, upstream, signal })
    return await tryServers({ replicas, now, random }, { affinityKeys: [], run, progress: () => noProgress, ...errand })
  }
  const ask = <T>(signal: AbortSignal, question: (access: UpstreamAccess) => Promise<T>) =>
    turnTo({ tokens: 0, isQuestion: true, signal }, question)
  const work = <T>(tokens: number, signal: AbortSignal, question: (access: UpstreamAccess) => Promise<T>) =>
    turnTo({ tokens, isQuestion: false, signal }, question)
  const prepare = async (asIs: GenerationRequest, signal: AbortSignal): Promise<PreparedGeneration> => {
    const { session: current, discovery } = await ensureOpen(signal)
    const defaults = options.sampling
    const request = defaults === undefined ? asIs : { ...asIs, sampling: mergeSampling(defaults, asIs.sampling) }
    const inputTokens = fitsSurely(request, current.replicas.upstreams)
      ? undefined
      : await countInput(request, (count) => ask(signal, count), signal)
    const counted = { request, model: id, inputTokens }
    // What the servers cannot do is refused before anything waits for a slot.
    const checked = await checkRequest(counted, current)
    const outputFormat = formatOf(request, discovery)
    return {
      ...(inputTokens !== undefined && { inputTokens }),
      ...(outputFormat !== undefined && { outputFormat }),
      ...(checked.structured !== undefined && { structured: checked.structured }),
      run: (runSignal, emit) =>
        atEdge(() =>
          run(current, {
            checked,
            signal: runSignal,
            emit,
            deadlineMs: options.deadlineMs,
            now,
            random,
            onLateTokens,
            ...counted,
          }),
        ),
    }
  }

  return {
    get state(): EngineState {
      if (session === undefined) return { type: 'stopped' }
      // Checks go on by themselves: a server that could not be reached may be there by now.
      if (session.replicas.discovery !== undefined) return { type: 'ready' }
      return session.failure ?? { type: 'starting' }
    },
    get facts() {
      return factsOf(session?.replicas, options)
    },
    get tokensAfterCancel() {
      return tokensAfterCancel
    },
    servers: () => (session?.replicas.describe() ?? []).map(toServerReport),
    ensureReady: (signal) => atEdge(async () => void (await ensureOpen(signal))),
    prepare: (asIs, signal) => atEdge(() => prepare(asIs, signal)),
    tokenize: (request, signal) => atEdge(() => ask(signal, (access) => tokenizeRemotely(request, access))),
    detokenize: (request, signal) => atEdge(() => ask(signal, (access) => detokenizeRemotely(request, access))),
    render: (request, signal) => atEdge(() => ask(signal, (access) => renderRemotely(request, access))),
    embed: (inputs, signal) => atEdge(() => work(inputs.length, signal, (access) => embedRemotely(inputs, access))),
    rank: (request, signal) =>
      atEdge(async () => {
        const { texts } = request
        const query = queryOf(request)
        return work(texts.length, signal, (access) => rankRemotely({ query, texts }, access))
      }),
    close: async () => {
      const current = session
      session = undefined
      if (current === undefined) return
      // What runs learns from its servers' being closed why its connection is.
      await Promise.all([current.replicas.close(), current.client.close(), current.grammars.close()])
    },
  }
}

/** The engine's edge: inside, a failed exchange is an `UpstreamError`; callers of the engine see `AppError` only. */
async function atEdge<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof UpstreamError ? toAppError(error) : error
  }
}

/** What lives from the first use of an engine to its closing. */
type Session = {
  readonly client: UpstreamClient
  readonly replicas: Replicas
  readonly grammars: GrammarMaker
  failure: EngineState | undefined
}

/** What is done beside generating, by any of the servers. */
type SideErrand = Pick<Errand<unknown>, 'tokens' | 'isQuestion' | 'signal'>

type Opened = { readonly session: Session; readonly discovery: Discovery }

type Run = CountedRequest &
  Pick<RunDeps, 'now' | 'random' | 'onLateTokens'> & {
    readonly emit: Emit<EngineEvent>
    readonly checked: NonNullable<RunPlan['checked']>
    readonly signal: AbortSignal
    readonly deadlineMs: number | undefined
  }

function run({ client, replicas, grammars }: Session, options: Run): Promise<void> {
  const { request, model, inputTokens, checked, emit, signal: caller, deadlineMs, now, random, onLateTokens } = options
  const start = (signal: AbortSignal) => {
    const deps = { client, replicas, grammars, countUsage: countUsage(client, signal), now, random, onLateTokens }
    return runChoices(deps, { request, model, inputTokens, checked, signal, emit })
  }
  if (deadlineMs === undefined) return start(caller)
  return withTimeLimit(caller, { timeoutMs: deadlineMs, tooLate: () => tooLate(deadlineMs) }, start)
}

function tooLate(deadlineMs: number): AppError {
  return new AppError('engine-failed', `the servers behind this model did not finish within ${deadlineMs} ms, its deadlineMs`)
}

/** What holds for the model as a whole: what any of its servers can take. */
function factsOf(replicas: Replicas | undefined, options: RemoteEngineOptions): EngineFacts {
  const upstreams = replicas?.upstreams ?? []
  const lengths = upstreams.flatMap(({ contextLength }) => contextLength ?? [])
  const contextLength = options.contextLength ?? (lengths.length === 0 ? undefined : Math.max(...lengths))
  const media = upstreams.flatMap(({ modalities }) => modalities ?? [])
  const chatTemplate = replicas?.discovery?.chatTemplate
  return {
    ...(contextLength !== undefined && { contextLength }),
    ...(chatTemplate !== undefined && { chatTemplate }),
    ...(media.length > 0 && { modalities: { image: media.some(({ image }) => image), audio: media.some(({ audio }) => audio) } }),
  }
}

/** Only what may not fit everywhere is counted: a token is at least a byte long, and counting costs a round trip. */
function fitsSurely(request: GenerationRequest, upstreams: readonly Upstream[]): boolean {
  const mostTokens = estimateTokens({ ...request, maxOutputTokens: request.maxOutputTokens ?? 1 })
  return upstreams.every(({ contextLength }) => contextLength === undefined || mostTokens <= contextLength)
}

async function countInput(
  { prompt, reasoning, toolChoice }: GenerationRequest,
  ask: <T>(question: (access: UpstreamAccess) => Promise<T>) => Promise<T>,
  signal: AbortSignal,
): Promise<number | undefined> {
  if (prompt.type === 'infill') return undefined
  if (prompt.type === 'tokens') return prompt.tokens.length
  const conversation = { prompt, reasoning, toolChoice, addBos: true, parseSpecial: true }
  try {
    return (await ask((access) => tokenizeRemotely(conversation, access))).length
  } catch (error) {
    signal.throwIfAborted()
    // A server whose tokens cannot be counted refuses by itself.
    if (error instanceof AppError || error instanceof UpstreamError) return undefined
    throw error
  }
}

/** For a server that counts nothing: its tokenizer is asked. Where it has none, a piece of its stream is taken for a token. */
function countUsage(client: UpstreamClient, signal: AbortSignal): RunDeps['countUsage'] {
  return async ({ endpoint, upstream }, { prompt, reasoning, toolChoice }, reader) => {
    const uncounted = { cachedInputTokens: 0, outputTokens: reader.pieces, reasoningTokens: 0 }
    if (prompt.type === 'tokens') return { ...uncounted, inputTokens: prompt.tokens.length }
    if (prompt.type === 'infill') return { ...uncounted, inputTokens: 0 }
    try {
      const access = { client, endpoint, upstream, signal }
      const ids = await tokenizeRemotely({ prompt, reasoning, toolChoice, addBos: true, parseSpecial: true }, access)
      return { ...uncounted, inputTokens: ids.length }
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof AppError || error instanceof UpstreamError) return { ...uncounted, inputTokens: 0 }
      throw error
    }
  }
}
