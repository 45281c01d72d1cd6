import { hostOf } from '../../../base/text/server-url.ts'
import type { ModelKind } from '../../../contract/engine.ts'
import type { Endpoint, RequestHead, UpstreamClient } from '../transport/client.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import type { ProfileName, Protocol } from './profile.ts'
import { profileIn, protocolOf } from './protocols.ts'

type Asked = { readonly client: UpstreamClient; readonly endpoint: Endpoint; readonly signal: AbortSignal }

/** The facts known about a server before it is asked. */
type Known = { readonly profile?: ProfileName | undefined; readonly protocol?: Protocol | undefined }

export type ListedModel = {
  readonly id: string
  readonly ownedBy?: string
  readonly createdAtMs?: number
  readonly contextLength?: number
  readonly kind?: ModelKind
}

/** A server's raw list of models; an array, if it is one. */
export async function askForModels(
  { client, endpoint, signal }: Asked,
  { profile, protocol = protocolOf(profile ?? 'openai') }: Known,
): Promise<unknown> {
  const list = async (head: RequestHead | undefined) => {
    const ask = (path: string) => client.ask(endpoint, { method: 'GET', path, head }, signal)
    const first = await ask('/models')
    // Anthropic's pages have 20 models by default.
    const reply = asObject(first)?.has_more === true ? await ask('/models?limit=1000') : first
    // Together replies with the bare list.
    return asObject(reply)?.data ?? reply
  }
  const { head } = profileIn(profile ?? 'openai', protocol)
  // With Anthropic's header, a server of another kind may list its models in Anthropic's form, which does not show the kind.
  const isUnknown = profile === undefined && protocol === 'messages'
  return await list(isUnknown ? undefined : head).catch((error: unknown) => {
    signal.throwIfAborted()
    if (isUnknown && !isUnauthorized(error)) return list(head)
    // Anthropic does not accept bearer tokens.
    if (profile !== undefined || !isUnauthorized(error)) throw error
    return list(profileIn('anthropic', 'messages').head)
  })
}

/** All models of a server, with the facts in its list. Rejects if the reply is not a list. */
export async function listModels(asked: Asked, profile: ProfileName | undefined): Promise<readonly ListedModel[]> {
  const entries = await askForModels(asked, { profile })
  if (!Array.isArray(entries)) {
    const message = `the server at ${hostOf(asked.endpoint.url)} did not reply to GET /models with a list of models`
    throw new UpstreamError({ type: 'malformed' }, message)
  }
  const described = await describedByLmStudio(asked, entries)
  const named = entries.map(asObject).filter(isNamed)
  return named.flatMap((entry) => readListed({ ...described.get(asText(entry.id)), ...entry }) ?? [])
}

/** Routers that do not ask their engines list a model with this name, which means nothing. */
const namesNothing = 'unknown'

/** Whether an entry of a list names a model. */
export function isNamed(entry: Loose | undefined): entry is Loose {
  return entry !== undefined && entry.id !== namesNothing
}

/** The most tokens of one request, according to an entry of a list. */
export function contextLengthOf(entry: Loose | undefined): number | undefined {
  const lengths = [entry?.max_model_len, entry?.context_length, entry?.context_window, entry?.max_input_tokens]
  const ofMeta = asObject(entry?.meta)?.n_ctx
  const ofParameters = asObject(entry?.parameters)?.max_seq_len
  const nested = [asObject(entry?.top_provider)?.context_length, ofMeta, ofParameters]
  return [...lengths, entry?.max_context_length, ...nested].find(isLength)
}

export function isLength(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0
}

/** The key was refused. */
function isUnauthorized(error: unknown): boolean {
  return error instanceof UpstreamError && error.failure.type === 'status' && [401, 403].includes(error.failure.status)
}

/** The owner in LM Studio's list, whose native list has more facts. */
const lmStudioOwner = 'organization_owner'

async function describedByLmStudio(
  { client, endpoint, signal }: Asked,
  entries: readonly unknown[],
): Promise<ReadonlyMap<string | undefined, Loose>> {
  if (!entries.some((entry) => asObject(entry)?.owned_by === lmStudioOwner)) return new Map()
  try {
    const reply = await client.ask(endpoint, { method: 'GET', path: '/api/v0/models', fromRoot: true }, signal)
    return new Map(
      asArray(asObject(reply)?.data).flatMap((entry) => {
        const { id, type, max_context_length } = asObject(entry) ?? {}
        return [[asText(id), { type, max_context_length }] as const]
      }),
    )
  } catch {
    signal.throwIfAborted()
    // Not LM Studio, or an older version: only the plain list is available.
    return new Map()
  }
}

function readListed(entry: Loose): ListedModel | undefined {
  const id = asText(entry.id)
  if (id === undefined) return undefined
  const [ownedBy, contextLength, kind] = [asText(entry.owned_by), contextLengthOf(entry), kindOf(entry)]
  return {
    id,
    ...(ownedBy !== undefined && ownedBy !== '' && { ownedBy }),
    ...(isLength(entry.created) && { createdAtMs: entry.created * 1000 }),
    ...(contextLength !== undefined && { contextLength }),
    ...(kind !== undefined && { kind }),
  }
}

const kinds: Readonly<Record<string, ModelKind>> = {
  chat: 'chat',
  language: 'chat',
  code: 'chat',
  llm: 'chat',
  vlm: 'chat',
  embedding: 'embeddings',
  embeddings: 'embeddings',
  rerank: 'rerank',
  moderation: 'other',
  image: 'other',
  audio: 'other',
  video: 'other',
  transcribe: 'other',
  other: 'other',
}

/**
 * The kind of a model, if its server reports it: Dragoman in `kind`, Together and LM Studio in `type`, OpenRouter by output modalities,
 * Mistral by capabilities, a llama-server with several models by the arguments that it starts each with.
 */
function kindOf({ kind, type, architecture, capabilities, status }: Loose): ModelKind | undefined {
  for (const name of [asText(kind), asText(type)]) {
    if (name !== undefined && Object.hasOwn(kinds, name)) return kinds[name]
  }
  const outputs = asArray(asObject(architecture)?.output_modalities)
  if (outputs.includes('text')) return 'chat'
  if (outputs.includes('embeddings')) return 'embeddings'
  if (outputs.length > 0) return 'other'
  const canChat = asObject(capabilities)?.completion_chat
  if (canChat === true) return 'chat'
  const args = asArray(asObject(status)?.args)
  if (args.includes('--reranking') || args.includes('--rerank')) return 'rerank'
  return args.includes('--embedding') || args.includes('--embeddings') ? 'embeddings' : undefined
}
