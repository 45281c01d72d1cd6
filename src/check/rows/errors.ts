import { chat, chatPath, streamed, user } from '../probe/asks.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { faultOf, openaiError } from '../probe/forms.ts'
import { at } from '../probe/read.ts'
import {
  absent,
  finding,
  holds,
  messageIn,
  moderate,
  type Row,
  rowsOf,
  severe,
  short,
  slight,
  type Verdict,
} from '../probe/row.ts'

type Expected = {
  readonly statuses?: readonly number[]
  readonly judge?: (reply: Exchange) => string | undefined
  readonly unless?: (server: Server) => string | undefined
}

/** A request that is wrong: refused with 4xx, in the protocol's form. */
function refuses(ask: (server: Server) => Ask, { statuses, judge, unless }: Expected = {}): Row['steps'] {
  return function* (server): Generator<Ask, Verdict, Exchange> {
    const not = unless?.(server)
    if (not !== undefined) return absent(not)
    const reply = yield ask(server)
    const { status, failure, headers, json } = reply
    if (failure !== undefined) return finding(failure)
    if (status < 400) return finding(`it is accepted: ${short(reply.text)}`)
    if (status >= 500) return finding(`the server answers ${status}: ${messageIn(reply) ?? short(reply.text)}`)
    if (statuses !== undefined && !statuses.includes(status)) return finding(`the status is ${status}`)
    if (headers['content-type']?.includes('json') !== true)
      return finding(`the error is ${headers['content-type'] ?? 'without a type'}: ${short(reply.text)}`)
    const fault = judge === undefined ? faultOf(openaiError, json) : judge(reply)
    return fault === undefined ? holds : finding(`${fault}: ${short(reply.text)}`)
  }
}

const body = (more: object) => (server: Server) => chat(server, more)
const form = 'Errors are JSON: `{"error": {"message", "type", "code"}}`'

export const errorRows = rowsOf('errors', {
  json: [
    severe(`A body that is not JSON is refused with 400. ${form}.`, 'developers'),
    refuses(() => ({ path: chatPath, text: '{"model": "x", "messages": [' }), { statuses: [400, 422] }),
  ],
  messages: [
    moderate('A body without messages is refused with 400.', 'developers'),
    refuses(body({ messages: undefined }), { statuses: [400, 422] }),
  ],
  role: [
    moderate('An unknown role is refused.', 'developers'),
    refuses(body({ messages: [{ role: 'nobody', content: 'Hello.' }] })),
  ],
  type: [
    moderate('A field of the wrong type is refused with 400.', 'developers'),
    refuses(body({ temperature: 'hot' }), { statuses: [400, 422] }),
  ],
  range: [
    slight('A value out of its range is refused.', 'developers, who would believe that it counts'),
    refuses(body({ top_p: 7 }), { statuses: [400, 422] }),
  ],
  limit: [
    slight('`max_tokens` that is not a number is refused.', 'developers'),
    refuses(body({ max_tokens: 'many' }), { statuses: [400, 422] }),
  ],
  model: [
    moderate('A model that is not there is refused with 404.', 'users with a spelling mistake, who get another model'),
    refuses(() => chat({ model: 'no-such-model-anywhere' }), { statuses: [400, 403, 404] }),
  ],
  route: [
    slight('An unknown route is refused with 404, in the form of errors.', 'developers'),
    refuses(() => ({ path: '/v1/no-such-route', body: {} }), { statuses: [404, 405] }),
  ],
  streamed: [
    severe('What is wrong with a request for a stream is a status, before the stream.', 'SDKs, which look at the status'),
    refuses((server) => streamed(server, { messages: [], temperature: 'hot' })),
  ],
  image: [
    moderate(
      'An image that cannot be read is refused; it is not left out in silence.',
      'users, whose picture the model has not seen',
    ),
    refuses((server) =>
      chat(server, {
        messages: [
          user([
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          ]),
        ],
      }),
    ),
  ],
  key: [
    severe('A key that is not known is refused with 401.', 'operators'),
    refuses((server) => ({ ...chat(server), isWrongKey: true }), {
      statuses: [401, 403],
      unless: ({ hasKey }) => (hasKey ? undefined : 'no key is given'),
    }),
  ],
  message: [
    slight('The message of an error names what is wrong.', 'developers'),
    refuses(body({ temperature: 'hot' }), {
      judge: (reply) =>
        /temperature/.test(
          `${messageIn(reply)} ${at(reply.json, 'error.param')} ${JSON.stringify(at(reply.json, 'detail') ?? '')}`,
        )
          ? undefined
          : 'it does not name `temperature`',
    }),
  ],
})
