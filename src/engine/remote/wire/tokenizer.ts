import { mediaIn } from '../../../canonical/parts.ts'
import type { DetokenizeRequest, RenderRequest, TokenizeRequest, TokenPiece } from '../../../contract/engine.ts'
import { AppError, messageOf } from '../../../contract/errors.ts'
import { type GenerationRequest, plainRequest } from '../../../contract/request.ts'
import { refuseTokensOfMedia } from '../../shared/refuse-media.ts'
import { checkMedia } from '../servers/check-upstream.ts'
import type { Profile } from '../servers/profile.ts'
import type { Upstream, UpstreamAccess } from '../servers/upstream.ts'
import { asArray, asCount, asObject, asText } from '../transport/loose-json.ts'
import { UpstreamError } from '../transport/upstream-error.ts'
import { chatBody } from './body/chat-body.ts'
import { countableBody, messagesBody } from './body/messages-body.ts'
import { countableResponse, responsesBody } from './body/responses-body.ts'
import { unsupported } from './body/sampling-fields.ts'

/** A prompt declares only the tools that may be called. */
type WithToolChoice = Partial<Pick<GenerationRequest, 'toolChoice'>>

/** The tokens of a text or conversation. Throws `unsupported-field` without a tokenizer, and for media, which have no tokens. */
export async function tokenizeRemotely(
  request: TokenizeRequest & WithToolChoice,
  access: UpstreamAccess,
): Promise<readonly number[]> {
  const { prompt, addBos, parseSpecial, ...rest } = request
  const { profile, model } = access.upstream
  if (profile.tokenizer === undefined || onlyCounts(profile)) throw cannot(profile, 'tokenize')
  refuseTokensOfMedia(request)
  if (profile.tokenizer === 'vllm') {
    if (!parseSpecial) throw unsupported(profile, ['parseSpecial'])
    const what =
      prompt.type === 'text'
        ? { prompt: prompt.text, add_special_tokens: addBos }
        : { ...conversationOf({ prompt, ...rest }, access.upstream), add_special_tokens: false }
    return readIds(await post(access, '/tokenize', { model, ...what }))
  }
  return readIds(await post(access, '/tokenize', { model, ...(await contentOf(request, access)) }))
}

/** The fields of llama-server's `POST /tokenize`. */
async function contentOf({ prompt, addBos, parseSpecial, ...rest }: TokenizeRequest & WithToolChoice, access: UpstreamAccess) {
  const content = prompt.type === 'text' ? prompt.text : await renderRemotely({ prompt, ...rest }, access)
  return { content, add_special: addBos, parse_special: parseSpecial }
}

/** The tokens with the bytes of each. Throws `unsupported-field` if the server does not report them. */
export async function piecesRemotely(request: TokenizeRequest, access: UpstreamAccess): Promise<readonly TokenPiece[]> {
  const { profile, model } = access.upstream
  if (profile.tokenizer !== 'llama-server') throw cannot(profile, 'tell the texts of tokens')
  refuseTokensOfMedia(request)
  const body = { model, with_pieces: true, ...(await contentOf(request, access)) }
  const tokens = asObject(await post(access, '/tokenize', body))?.tokens
  if (!Array.isArray(tokens)) throw unexpected('tokenize')
  return asArray(tokens).map((token) => {
    const { id, piece } = asObject(token) ?? {}
    if (typeof id !== 'number') throw unexpected('tokenize')
    return { id, bytes: typeof piece === 'string' ? Buffer.from(piece) : Uint8Array.from(asArray(piece), Number) }
  })
}

/** The number of tokens of a text or conversation. Throws `unsupported-field` if the server cannot count it. */
export async function countRemotely(request: TokenizeRequest & WithToolChoice, access: UpstreamAccess): Promise<number> {
  const { upstream } = access
  const { prompt } = request
  if (!onlyCounts(upstream.profile)) {
    const isText = prompt.type === 'text' || mediaIn(prompt).length === 0
    return isText ? (await tokenizeRemotely(request, access)).length : await countWithMedia({ ...request, prompt }, access)
  }
  if (prompt.type !== 'chat') throw cannot(upstream.profile, 'count the tokens of a text')
  const { path, body } = countRequest(conversation({ ...request, prompt }, upstream), prompt, upstream)
  const reply = asObject(await post(access, path, body, { fromRoot: false }))
  const count = asCount(reply?.input_tokens)
  if (count === undefined) throw unexpected(path.slice(1))
  return count
}

/** Throws `unsupported-field` for media that the server does not read, and `invalid-request` for those that it cannot decode. */
async function countWithMedia(request: RenderRequest & WithToolChoice, access: UpstreamAccess): Promise<number> {
  const { profile, model } = access.upstream
  checkMedia(request, model, access.upstream)
  if (profile.countsMedia !== true) throw cannot(profile, 'count the tokens of media')
  const path = '/chat/completions/input_tokens'
  const body = conversationOf(request, access.upstream)
  const reply = asObject(await post(access, path, body, { fromRoot: false }).catch((error: unknown) => throwRead(error, profile)))
  const count = asCount(reply?.input_tokens)
  if (count === undefined) throw unexpected(path.slice(1))
  return count
}

/** Older versions lack the route, and report 500 where generating reports 400. */
function throwRead(error: unknown, profile: Profile): never {
  const failure = error instanceof UpstreamError ? error.failure : undefined
  if (failure?.type !== 'status') throw error
  if (failure.status === 404) throw cannot(profile, 'count the tokens of media')
  if (failure.status !== 500 && failure.status !== 400) throw error
  throw new AppError('invalid-request', `the server behind this model cannot read the media of this request: ${messageOf(error)}`)
}

function onlyCounts({ tokenizer }: Profile): boolean {
  return tokenizer === 'messages' || tokenizer === 'responses'
}

function countRequest(request: GenerationRequest, prompt: RenderRequest['prompt'], upstream: Upstream) {
  return upstream.profile.tokenizer === 'messages'
    ? { path: '/messages/count_tokens', body: countableBody(messagesBody(request, prompt, upstream)) }
    : { path: '/responses/input_tokens', body: countableResponse(responsesBody(request, prompt, upstream)) }
}

/** The text of tokens, including special ones. Throws `unsupported-field` without a tokenizer, or if special tokens are to be left out. */
export async function detokenizeRemotely({ tokens, special }: DetokenizeRequest, access: UpstreamAccess): Promise<string> {
  const { profile, model } = access.upstream
  if (profile.tokenizer === undefined || onlyCounts(profile)) throw cannot(profile, 'detokenize')
  if (!special) throw unsupported(profile, ['special'])
  const reply = asObject(await post(access, '/detokenize', { model, tokens }))
  const text = asText(reply?.content) ?? asText(reply?.prompt)
  if (text === undefined) throw unexpected('detokenize')
  return text
}

/** The prompt text of a conversation. */
export async function renderRemotely(request: RenderRequest & WithToolChoice, access: UpstreamAccess): Promise<string> {
  const { profile } = access.upstream
  if (profile.tokenizer !== 'llama-server') throw cannot(profile, 'render a conversation')
  const reply = asObject(await post(access, '/apply-template', conversationOf(request, access.upstream)))
  const text = asText(reply?.prompt)
  if (text === undefined) throw unexpected('apply-template')
  return text
}

/** The end of a conversation's prompt. */
export async function promptEndRemotely(request: RenderRequest & WithToolChoice, access: UpstreamAccess): Promise<string> {
  if (access.upstream.profile.tokenizer !== 'vllm') return renderRemotely(request, access)
  const tokens = await tokenizeRemotely({ ...request, addBos: false, parseSpecial: true }, access)
  return detokenizeRemotely({ tokens: tokens.slice(-32), special: true }, access)
}

/** The fields of a chat request that its prompt depends on. */
function conversationOf(given: RenderRequest & WithToolChoice, upstream: Upstream): Readonly<Record<string, unknown>> {
  const { stream: _, stream_options: __, ...body } = chatBody(conversation(given, upstream), given.prompt, upstream).body
  return body
}

function conversation(given: RenderRequest & WithToolChoice, { model }: Upstream): GenerationRequest {
  return { ...plainRequest, id: '', model, ...given }
}

/** For the ids of a long text. */
const bounds = { maxLength: 64 * 1024 * 1024, maxUnits: 8 * 1024 * 1024 }

function post(
  { client, endpoint, upstream, headers, signal }: UpstreamAccess,
  path: string,
  body: unknown,
  { fromRoot = true }: { readonly fromRoot?: boolean } = {},
): Promise<unknown> {
  const { head } = upstream.profile
  return client.ask(endpoint, { method: 'POST', path, fromRoot, body, bounds, head, headers }, signal)
}

function readIds(reply: unknown): readonly number[] {
  const tokens = asObject(reply)?.tokens
  if (!Array.isArray(tokens)) throw unexpected('tokenize')
  return asArray(tokens).filter((id): id is number => typeof id === 'number')
}

function unexpected(path: string): AppError {
  return new AppError('upstream-failed', `the server behind this model sent an unexpected reply to ${path}`)
}

function cannot({ name }: Profile, what: string): AppError {
  return new AppError('unsupported-field', `the server behind this model (${name}) cannot ${what}: choose another model`, {
    at: ['model'],
  })
}
