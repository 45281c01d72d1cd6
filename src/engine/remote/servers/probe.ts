import { AppError } from '../../../contract/errors.ts'
import type { TemplateReader } from '../../../threads/template-reader.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { shortened } from '../transport/error-message.ts'
import { asArray, asObject, asText, type Loose } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { type ProfileName, profileNames } from './profiles.ts'
import type { Discovery } from './upstream.ts'

export type ProbeOptions = {
  /** The kind of server, where configured. */
  readonly profile: ProfileName | undefined
  /** The server's name for the model, where configured. */
  readonly upstreamModel: string | undefined
  /** Our name for the model, which the server may share. */
  readonly id: string
  /** The most tokens of one request, where configured. */
  readonly contextLength: number | undefined
  /** Reads the server's chat template. */
  readonly templates: Pick<TemplateReader, 'findSwitch'>
}

/** Finds out what a server is. Rejects when it cannot be reached, is not ready, or does not have the model. */
export async function probeServer(
  client: UpstreamClient,
  endpoint: Endpoint,
  options: ProbeOptions,
  signal: AbortSignal,
): Promise<Discovery> {
  const ask = async (path: string): Promise<unknown> => {
    try {
      return await client.ask(endpoint, { method: 'GET', path, fromRoot: true }, signal)
    } catch (error) {
      signal.throwIfAborted()
      // A missing route is an answer, unlike a failure.
      if (isAbsent(error)) return undefined
      throw error
    }
  }
  const entry = pickModel(await listModels(client, endpoint, { options, signal }), options)
  const profile = options.profile ?? recogniseServer(entry)
  const props = profile === 'llama-server' || profile === 'dragoman' ? asObject(await ask(propsPath(profile, entry))) : undefined
  const chatTemplate = asText(props?.chat_template)
  return {
    profile,
    version: await findVersion(profile, props, (path) => ask(path).catch(() => signal.throwIfAborted())),
    model: options.upstreamModel ?? asText(entry?.id) ?? options.id,
    contextLength: options.contextLength ?? findContextLength(entry, props),
    chatTemplate: chatTemplate === '' ? undefined : chatTemplate,
    thinkingSwitch: chatTemplate === undefined ? undefined : await options.templates.findSwitch(chatTemplate),
    abilities: {},
    modalities: readModalities(props?.modalities),
  }
}

/** The models of a server, which need not list them when its kind and model are configured. */
async function listModels(
  client: UpstreamClient,
  endpoint: Endpoint,
  { options, signal }: { readonly options: ProbeOptions; readonly signal: AbortSignal },
): Promise<readonly unknown[]> {
  try {
    return asArray(asObject(await client.ask(endpoint, { method: 'GET', path: '/models' }, signal))?.data)
  } catch (error) {
    signal.throwIfAborted()
    if (isAbsent(error) && options.profile !== undefined && options.upstreamModel !== undefined) return []
    throw error
  }
}

/** The route does not exist, or is not open to us. */
function isAbsent(error: unknown): boolean {
  if (!(error instanceof UpstreamError)) return false
  const { failure } = error
  return failure.type === 'status' && [401, 403, 404, 405, 501].includes(failure.status)
}

function pickModel(listed: readonly unknown[], { upstreamModel, id }: ProbeOptions): Loose | undefined {
  const entries = listed.map(asObject).filter((entry) => entry !== undefined)
  const wanted = upstreamModel ?? id
  const found =
    entries.find((entry) => entry.id === wanted || asArray(entry.aliases).includes(wanted)) ??
    // Ollama's default tag.
    entries.find((entry) => entry.id === `${wanted}:latest`)
  if (found !== undefined) return found
  const [only] = entries
  // A server with a single model takes any name for it.
  if (entries.length === 1 && upstreamModel === undefined) return only
  if (entries.length === 0) return undefined
  const names = entries.slice(0, maxNames).map((entry) => shortened(asText(entry.id) ?? '?', 100))
  const more = entries.length > maxNames ? ` and ${entries.length - maxNames} more` : ''
  const message = `the server has no model '${wanted}'; it has: ${names.join(', ')}${more}. Set \`upstreamModel\` to one of them`
  throw new AppError('model-unavailable', message)
}

/** Model names that a message lists. */
const maxNames = 20

/** Kinds by `owned_by`, the one field that all servers have. */
const owners: Readonly<Record<string, ProfileName>> = {
  vllm: 'vllm',
  sglang: 'sglang',
  llamacpp: 'llama-server',
  library: 'ollama',
  dragoman: 'dragoman',
}

function recogniseServer(entry: Loose | undefined): ProfileName {
  const owner = asText(entry?.owned_by) ?? ''
  const known = Object.hasOwn(owners, owner) ? owners[owner] : undefined
  return known ?? profileNames.find((name) => owner === name) ?? 'openai'
}

function propsPath(profile: ProfileName, entry: Loose | undefined): string {
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
      return asText(asObject(await ask('/version'))?.version)
    case 'sglang':
      return asText(asObject(await ask('/get_server_info'))?.version)
    case 'ollama':
      return asText(asObject(await ask('/api/version'))?.version)
    case 'openai':
      // Not part of the protocol, but common with vLLM and its relatives.
      return asText(asObject(await ask('/version'))?.version)
  }
}

function findContextLength(entry: Loose | undefined, props: Loose | undefined): number | undefined {
  const settings = asObject(props?.default_generation_settings)
  const candidates = [settings?.n_ctx, entry?.max_model_len, entry?.context_length, asObject(entry?.meta)?.n_ctx]
  return candidates.find((value): value is number => typeof value === 'number' && Number.isInteger(value) && value > 0)
}

function readModalities(value: unknown): Discovery['modalities'] {
  const modalities = asObject(value)
  if (modalities === undefined) return undefined
  return { image: modalities.vision === true, audio: modalities.audio === true }
}
