import type { Engine, RenderRequest, TokenizeRequest } from '../../../contract/engine.ts'
import { AppError } from '../../../contract/errors.ts'
import { type GenerationRequest, plainRequest } from '../../../contract/request.ts'
import type { Endpoint, UpstreamClient } from '../transport/client.ts'
import { asArray, asObject, asText } from '../transport/loose-json.ts'
import { chatBody, type Target } from './chat-body.ts'
import { unsupported } from './sampling-fields.ts'

type DetokenizeRequest = Parameters<NonNullable<Engine['detokenize']>>[0]

/** A server that can be asked about tokens. */
export type Asked = {
  readonly client: UpstreamClient
  readonly endpoint: Endpoint
  readonly target: Target
  readonly signal: AbortSignal
}

/** Which tools a conversation shows depends on which may be called. */
type Choice = Partial<Pick<GenerationRequest, 'toolChoice'>>

/** The tokens of a text or of a conversation, as the server's model has them. Throws `unsupported-field` where it cannot say. */
export async function tokenizeThere(request: TokenizeRequest & Choice, asked: Asked): Promise<readonly number[]> {
  const { prompt, addBos, parseSpecial, ...rest } = request
  const { profile, model } = asked.target
  if (profile.tokenizer === undefined) throw unsupported(profile, 'tokenize')
  if (profile.tokenizer === 'vllm') {
    if (!parseSpecial) throw unsupported(profile, 'parse_special')
    const what =
      prompt.type === 'text'
        ? { prompt: prompt.text, add_special_tokens: addBos }
        : { ...conversationOf({ prompt, ...rest }, asked.target), add_special_tokens: false }
    return readIds(await post(asked, '/tokenize', { model, ...what }))
  }
  const content = prompt.type === 'text' ? prompt.text : await renderThere({ prompt, ...rest }, asked)
  const flags = { add_special: addBos, parse_special: parseSpecial }
  return readIds(await post(asked, '/tokenize', { model, content, ...flags }))
}

/** The text of tokens, with that of control tokens. Throws `unsupported-field` where it cannot say, or should leave that out. */
export async function detokenizeThere({ tokens, special }: DetokenizeRequest, asked: Asked): Promise<string> {
  const { profile, model } = asked.target
  if (profile.tokenizer === undefined) throw unsupported(profile, 'detokenize')
  if (!special) throw unsupported(profile, 'decode_special_tokens')
  const reply = asObject(await post(asked, '/detokenize', { model, tokens }))
  const text = asText(reply?.content) ?? asText(reply?.prompt)
  if (text === undefined) throw strange('detokenize')
  return text
}

/** What the server's model would be given for a conversation. */
export async function renderThere(request: RenderRequest & Choice, asked: Asked): Promise<string> {
  const { profile } = asked.target
  if (profile.tokenizer !== 'llama-server') throw unsupported(profile, 'apply-template')
  const reply = asObject(await post(asked, '/apply-template', conversationOf(request, asked.target)))
  const text = asText(reply?.prompt)
  if (text === undefined) throw strange('apply-template')
  return text
}

/** The fields that a conversation's text depends on, as a chat request has them. */
function conversationOf(conversation: RenderRequest & Choice, target: Target): Readonly<Record<string, unknown>> {
  const request = { ...plainRequest, id: '', model: target.model, ...conversation }
  const { stream: _, stream_options: __, ...body } = chatBody(request, conversation.prompt, target).body
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
