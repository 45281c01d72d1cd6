import type { RenderRequest, TokenizeRequest } from '../../core/engine.ts'
import { AppError } from '../../core/errors.ts'
import { plainRequest } from '../../core/request.ts'
import { chatBody, type Target } from './chat-body.ts'
import type { Endpoint, UpstreamClient } from './client.ts'
import { asArray, asObject, asText } from './loose-json.ts'
import { unsupported } from './sampling-fields.ts'

/** A server that can be asked about tokens. */
export type Asked = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly target: Target
  readonly signal: AbortSignal
}

/** The tokens of a text or of a conversation, as the server's model has them. Throws `unsupported-field` where it cannot say. */
export async function tokenizeThere(request: TokenizeRequest, asked: Asked): Promise<readonly number[]> {
  const { prompt, addBos, parseSpecial, reasoning } = request
  const { profile, model } = asked.target
  if (profile.tokenizer === undefined) throw unsupported(profile, 'tokenize')
  if (profile.tokenizer === 'vllm') {
    const what =
      prompt.type === 'text'
        ? { prompt: prompt.text, add_special_tokens: addBos }
        : { ...conversationOf({ prompt, reasoning }, asked.target), add_special_tokens: false }
    return readIds(await post(asked, '/tokenize', { model, ...what }))
  }
  const content = prompt.type === 'text' ? prompt.text : await renderThere({ prompt, reasoning }, asked)
  const flags = { add_special: addBos, parse_special: prompt.type === 'chat' || parseSpecial }
  return readIds(await post(asked, '/tokenize', { model, content, ...flags }))
}

/** The text of tokens. */
export async function detokenizeThere(tokens: readonly number[], asked: Asked): Promise<string> {
  const { profile, model } = asked.target
  if (profile.tokenizer === undefined) throw unsupported(profile, 'detokenize')
  const reply = asObject(await post(asked, '/detokenize', { model, tokens }))
  const text = asText(reply?.content) ?? asText(reply?.prompt)
  if (text === undefined) throw strange('detokenize')
  return text
}

/** What the server's model would be given for a conversation. */
export async function renderThere(request: RenderRequest, asked: Asked): Promise<string> {
  const { profile } = asked.target
  if (profile.tokenizer !== 'llama-server') throw unsupported(profile, 'apply-template')
  const reply = asObject(await post(asked, '/apply-template', conversationOf(request, asked.target)))
  const text = asText(reply?.prompt)
  if (text === undefined) throw strange('apply-template')
  return text
}

/** The fields that a conversation's text depends on, as a chat request has them. */
function conversationOf({ prompt, reasoning }: RenderRequest, target: Target): Readonly<Record<string, unknown>> {
  const request = { ...plainRequest, id: '', model: target.model, prompt, reasoning }
  const { stream: _, stream_options: __, ...body } = chatBody(request, prompt, target).body
  return body
}

function post({ client, endpoint, signal }: Asked, path: string, body: unknown): Promise<unknown> {
  return client.ask(endpoint, { method: 'POST', path, fromRoot: true, body }, signal)
}

function readIds(reply: unknown): readonly number[] {
  const tokens = asObject(reply)?.tokens
  if (!Array.isArray(tokens)) throw strange('tokenize')
  return asArray(tokens).filter((id): id is number => typeof id === 'number')
}

function strange(path: string): AppError {
  return new AppError('engine-failed', `the server behind this model answered ${path} with something else than was asked for`)
}
