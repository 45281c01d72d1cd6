import { setImmediate as nextTurn } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../../contract/errors.ts'
import type { TemplateReader } from '../../../threads/template-reader.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { shortened } from '../transport/error-message.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { ProbedServer } from './abilities.ts'
import { askForModels, contextLengthOf, isLength, isNamed } from './list-models.ts'
import { type ProfileName, type Protocol, profileNames } from './profile.ts'
import { profileIn, protocolOf } from './protocols.ts'
import { askOfBudgets } from './reasoning-budgets.ts'
import { readSpecialTokens } from './special-tokens.ts'
import { type Discovery, isSameServer } from './upstream.ts'

export type ProbeOptions = {
  /** The configured kind of server. */
  readonly profile: ProfileName | undefined
  /** The configured protocol of its conversations. */
  readonly protocol: Protocol | undefined
  /** The configured name of the model on the server. */
  readonly upstreamModel: string | undefined
  /** Our name for the model, which may also be the server's. */
  readonly id: string
  /** The configured limit of tokens in one request. */
  readonly contextLength: number | undefined
  /** Reads the server's chat template. */
  readonly templates: Pick<TemplateReader, 'readThinking'>
  /** Apply the template's default for thinking, even if the server thinks by default. */
  readonly followsTemplate?: boolean
  /** The server's previous discovery: an unchanged server needs fewer requests. */
  readonly known?: Discovery
  /**
   * The discovery of another server of the model. A server that lists the model in the same way is assumed to be alike, and is not probed
   * further.
   */
  readonly like?: Discovery
}

/** Probes a server. Rejects if it cannot be reached, is not ready, or does not have the model. */
export async function probeServer(
  client: UpstreamClient,
  endpoint: Endpoint,
  given: ProbeOptions,
  signal: AbortSignal,
): Promise<Discovery> {
  const { upstreamModel = given.upstreamModel } = endpoint
  const options = { ...given, upstreamModel }
  const ask = async (path: string): Promise<unknown> => {
    // The connection of a reply is free in the next turn of the loop: without the pause, each request would open another one.
    await nextTurn()
    try {
      return await client.ask(endpoint, { method: 'GET', path, fromRoot: true }, signal)
    } catch (error) {
      signal.throwIfAborted()
      // Unlike a failure, a missing route is an answer.
      if (isAbsent(error)) return undefined
      throw error
    }
  }
  const entries = (await listModels(client, endpoint, { options, signal })).map(asObject).filter(isNamed)
  const entry = pickModel(entries, options)
  const profile = options.profile ?? recogniseOwner(entry, entries)
  const { like } = options
  if (like !== undefined && entry !== undefined && isLike(like, { profile, entry, options })) return like
  const props = describesItself(profile) ? asObject(await ask(propsPath(profile, entry))) : undefined
  const chatTemplate = asText(props?.chat_template)
  const version = await findVersion(profile, props, (path) => ask(path).catch(() => signal.throwIfAborted()))
  const thinking = chatTemplate === undefined ? undefined : await options.templates.readThinking(chatTemplate)
  const model = options.upstreamModel ?? asText(entry?.id) ?? options.id
  const { known } = options
  const protocol = options.protocol ?? protocolOf(profile)
  const asksOfBudgets = profile === 'llama-server' && protocol === 'chat' && props?.chat_template_caps !== undefined
  const isSame = known !== undefined && isSameServer(known, { ...known, profile, version, model })
  const asked = { client, endpoint, model, signal }
  const abilities = !asksOfBudgets ? {} : isSame ? known.abilities : await askOfBudgets(asked)
  const hasTokens = profile === 'llama-server' && props !== undefined
  const tokens = !hasTokens ? undefined : isSame ? known.tokens : await readSpecialTokens(props, asked)
  return {
    profile,
    protocol,
    version,
    model,
    contextLength: options.contextLength ?? findContextLength(entry, props),
    outputLength: outputLengthOf(entry),
    ...(isLength(props?.total_slots) && { slots: props.total_slots }),
    chatTemplate: chatTemplate === '' ? undefined : chatTemplate,
    ...(tokens !== undefined && { tokens }),
    thinkingSwitch: thinking?.thinkingSwitch,
    isThinkingOff: options.followsTemplate === true && thinking?.isOffByDefault === true,
    abilities,
    ...(entry === undefined &&
      entries.length > 0 && { unlisted: `${notListed(entries, options)}: it is asked for nevertheless` }),
    modalities: readModalities(props?.modalities) ?? readCapabilities(entry?.capabilities),
  }
}

type Listed = { readonly profile: ProfileName; readonly entry: Loose; readonly options: ProbeOptions }

/** Whether a server's list of models has all the facts about it, equal to another server's. */
function isLike(like: Discovery, { profile, entry, options }: Listed): boolean {
  if (describesItself(profile) || like.version === undefined) return false
  return (
    like.profile === profile &&
    like.model === (options.upstreamModel ?? asText(entry.id)) &&
    like.contextLength === (options.contextLength ?? findContextLength(entry, undefined)) &&
    like.outputLength === outputLengthOf(entry) &&
    isDeepStrictEqual(like.modalities, readCapabilities(entry.capabilities))
  )
}

function outputLengthOf(entry: Loose | undefined): number | undefined {
  return [entry?.max_tokens, entry?.max_completion_tokens].find(isLength)
}

type Listing = { readonly options: ProbeOptions; readonly signal: AbortSignal }

/** The models of a server. It need not list them if its kind and model are configured. */
async function listModels(client: UpstreamClient, endpoint: Endpoint, listing: Listing): Promise<readonly unknown[]> {
  const { options, signal } = listing
  try {
    return asArray(await askForModels({ client, endpoint, signal }, options))
  } catch (error) {
    signal.throwIfAborted()
    if (isAbsent(error) && options.profile !== undefined && options.upstreamModel !== undefined) return []
    throw error
  }
}

/** The route does not exist, or we are not allowed to use it. */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure } = error
  return failure.type === 'status' && [401, 403, 404, 405, 501].includes(failure.status)
}

/** The description of the model. Undefined if the server lists no models, or not the configured one. */
function pickModel(entries: readonly Loose[], options: ProbeOptions): Loose | undefined {
  const { upstreamModel, id } = options
  const wanted = upstreamModel ?? id
  const found =
    entries.find((entry) => entry.id === wanted || asArray(entry.aliases).includes(wanted)) ??
    // Ollama's default tag.
    entries.find((entry) => entry.id === `${wanted}:latest`)
  // A list is only a hint: routers and gateways accept names that they do not list.
  if (found !== undefined || upstreamModel !== undefined || entries.length === 0) return found
  const [only] = entries
  // A server with a single model accepts any name for it.
  if (entries.length === 1) return only
  throw new AppError('model-unavailable', `${notListed(entries, options)}. Set \`upstreamModel\` to one of them`)
}

function notListed(entries: readonly Loose[], { upstreamModel, id }: ProbeOptions): string {
  const names = entries.slice(0, maxNames).map((entry) => shortened(asText(entry.id) ?? '?', 100))
  const more = entries.length > maxNames ? ` and ${entries.length - maxNames} more` : ''
  return `the server has no model '${upstreamModel ?? id}'; it has: ${names.join(', ')}${more}`
}

/** Model names that a message lists. */
const maxNames = 20

/** Kinds by `owned_by`, the one field that all servers have. */
const owners: Readonly<Record<string, ProfileName>> = {
  vllm: 'vllm',
  sglang: 'sglang',
  llamacpp: 'llama-server',
  library: 'ollama',
  tabbyAPI: 'tabbyapi',
  pygmalionai: 'aphrodite',
  dragoman: 'dragoman',
  fireworks: 'fireworks',
}

/** If the model is not listed, the kind of all listed ones, if they agree. */
function recogniseOwner(entry: Loose | undefined, entries: readonly Loose[]): ProfileName {
  if (entry !== undefined) return recogniseServer(entry)
  const [kind = 'openai', ...others] = new Set(entries.map(recogniseServer))
  return others.length === 0 ? kind : 'openai'
}

function recogniseServer(entry: Loose | undefined): ProfileName {
  // Dragoman's own fields. The owner may be that of a model on a server behind it.
  if (typeof entry?.state === 'string' && Array.isArray(entry.aliases)) return 'dragoman'
  const owner = asText(entry?.owned_by) ?? ''
  if (entry?.type === 'model' && entry.owned_by === undefined) return 'anthropic'
  // The owners are the makers of the models.
  if (typeof entry?.active === 'boolean' && entry.context_window !== undefined) return 'groq'
  if (entry?.organization !== undefined && typeof entry.type === 'string') return 'together'
  if (entry?.supports_chat !== undefined) return 'fireworks'
  if (owner !== '' && owner === entry?.id && entry.created === 0) return 'tgi'
  const known = Object.hasOwn(owners, owner) ? owners[owner] : undefined
  return known ?? profileNames.find((name) => owner === name) ?? 'openai'
}

/** Kinds with a route that describes the server and its model. */
function describesItself(profile: ProfileName): boolean {
  return profile === 'llama-server' || profile === 'dragoman' || profile === 'tgi'
}

function propsPath(profile: ProfileName, entry: Loose | undefined): string {
  if (profile === 'tgi') return '/info'
  const id = asText(entry?.id)
  return profile === 'dragoman' && id !== undefined ? `/props?model=${encodeURIComponent(id)}` : '/props'
}

async function findVersion(
  profile: ProfileName,
  props: Loose | undefined,
  ask: (path: string) => Promise<unknown>,
): Promise<string | undefined> {
  switch (profile) {
    case 'llama-server':
    case 'dragoman':
      return asText(props?.build_info)
    case 'vllm':
    case 'aphrodite':
      return asText(asObject(await ask('/version'))?.version)
    case 'sglang':
      return asText(asObject(await ask('/get_server_info'))?.version)
    case 'ollama':
      return asText(asObject(await ask('/api/version'))?.version)
    case 'anthropic':
    case 'together':
    case 'fireworks':
    case 'groq':
    case 'tabbyapi':
      return undefined
    case 'tgi':
      return asText(props?.version)
    case 'openai':
      // Not part of the protocol, but common with vLLM and its relatives.
      return asText(asObject(await ask('/version'))?.version)
  }
}

function findContextLength(entry: Loose | undefined, props: Loose | undefined): number | undefined {
  const settings = asObject(props?.default_generation_settings)
  return [settings?.n_ctx, props?.max_total_tokens, contextLengthOf(entry)].find(isLength)
}

function readModalities(value: unknown): Discovery['modalities'] {
  const modalities = asObject(value)
  if (modalities === undefined) return undefined
  return { image: modalities.vision === true, audio: modalities.audio === true, video: modalities.video === true }
}

/** Reads Anthropic's description of a model. */
function readCapabilities(value: unknown): Discovery['modalities'] {
  const capabilities = asObject(value)
  if (capabilities === undefined) return undefined
  const can = (name: string) => asObject(capabilities[name])?.supported === true
  return { image: can('image_input'), audio: false, file: can('pdf_input') }
}

/** The routes of conversations, the most common one first. */
const routes: readonly { readonly protocol: Protocol; readonly path: string }[] = [
  { protocol: 'chat', path: '/chat/completions' },
  { protocol: 'responses', path: '/responses' },
  { protocol: 'messages', path: '/messages' },
  { protocol: 'completions', path: '/completions' },
]

/** The first protocol that a server has a route for, found by a request without messages. Chat completions if no route is found. */
export async function findProtocol(server: ProbedServer): Promise<Protocol> {
  for (const { protocol, path } of routes) if (await hasRoute(server, protocol, path)) return protocol
  return 'chat'
}

/** Whether a server refuses an incomplete request for another reason than a missing route. */
async function hasRoute({ client, endpoint, model, signal }: ProbedServer, protocol: Protocol, path: string): Promise<boolean> {
  const { head } = profileIn('openai', protocol)
  try {
    await client.ask(endpoint, { method: 'POST', path, body: { model }, head }, signal)
    return true
  } catch (error) {
    signal.throwIfAborted()
    return !(error instanceof UpstreamError && error.failure.type === 'status' && [404, 405, 501].includes(error.failure.status))
  }
}
