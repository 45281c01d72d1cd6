import { isObject } from '../../base/json.ts'
import { clientBodies } from '../probe/client-bodies.ts'
import type { ClientBody } from '../probe/client-body.ts'
import type { Ask, Exchange, Server } from '../probe/exchange.ts'
import { chat, chatChunk, faultOf, messageReply, ollamaChat, ollamaPart, response } from '../probe/forms.ts'
import { at, brokenEvent, finishOf, partsOf, textAt } from '../probe/read.ts'
import { finding, holds, type Row, rowsOf, severe, unanswered, unproven } from '../probe/row.ts'

/** The most time of the run that one client may take. */
const patienceMs = 8000
const charactersPerToken = 4

const limitFields = ['max_tokens', 'max_completion_tokens', 'max_output_tokens']
const mostTokens = 16
/** A stream that is correct so far is not read to its end: some programs send no limit. */
const enoughEvents = 20

function askOf({ path, headers, body }: ClientBody, { model }: Server): Ask {
  const limits = limitFields.filter((name) => typeof body[name] === 'number').map((name) => [name, mostTokens])
  const thinking =
    isObject(body.thinking) && 'budget_tokens' in body.thinking
      ? { max_tokens: Number(body.thinking.budget_tokens) + mostTokens }
      : {}
  return { path, headers, body: { ...body, model, ...Object.fromEntries(limits), ...thinking }, enoughEvents }
}

const forms = [
  {
    path: /chat\/completions/,
    whole: chat,
    part: chatChunk,
    isEnd: (stream: Exchange) => finishOf(stream) !== undefined && stream.events.at(-1)?.data === '[DONE]',
  },
  { path: /\/v1\/messages/, whole: messageReply, part: undefined, isEnd: endsWith(/^message_stop$/) },
  { path: /\/responses/, whole: response, part: undefined, isEnd: endsWith(/^response\.(completed|incomplete)$/) },
  {
    path: /\/api\/chat/,
    whole: ollamaChat,
    part: ollamaPart,
    isEnd: (stream: Exchange) => at(partsOf(stream).at(-1), 'done') === true,
  },
]

function endsWith(type: RegExp): (stream: Exchange) => boolean {
  return (stream) => type.test(textAt(partsOf(stream).at(-1), 'type') ?? '')
}

/** Why the program cannot read a reply. */
function faultIn(reply: Exchange, { path, body }: ClientBody): string | undefined {
  const form = forms.find((one) => one.path.test(path))
  if (form === undefined) return undefined
  // Ollama's clients say what they want in each request.
  if (body.stream !== true) return faultOf(form.whole, reply.json)
  const { part } = form
  const fault =
    part &&
    partsOf(reply)
      .map((one) => faultOf(part, one))
      .find((one) => one !== undefined)
  if (fault !== undefined || brokenEvent(reply) !== undefined) return fault ?? 'an event is not JSON'
  if (reply.events.length === 0) return 'the reply has no events'
  return reply.isCut || form.isEnd(reply) ? undefined : 'the stream does not end as it should'
}

const idOf = (client: string) =>
  client
    .toLowerCase()
    .replace(/[^a-z]+/g, '-')
    .replace(/^-|-$/g, '')

/** Which programs work here. */
export const clientRows: readonly Row[] = rowsOf(
  'clients',
  Object.fromEntries(
    clientBodies.map((body) => [
      idOf(body.client),
      [
        severe(`A request of ${body.client} is answered in the form that it reads.`, `users of ${body.client}`),
        function* (server: Server) {
          if ((JSON.stringify(body.body).length / charactersPerToken / server.promptSpeed) * 1000 > patienceMs)
            return unproven('the server needs too long to read its prompt')
          const reply = yield askOf(body, server)
          if (reply.status === 404 || reply.status === 405)
            return { outcome: 'absent', why: `there is no ${body.path.replace(/\?.*/, '')}` } as const
          const problem = unanswered(reply)
          if (problem !== undefined) return problem
          const fault = faultIn(reply, body)
          if (fault !== undefined) return finding(fault)
          const { contextLength } = server
          return contextLength === undefined || contextLength > body.tokens
            ? holds
            : unproven(
                `its form is read, but its first request has about ${body.tokens} tokens, and the context ${contextLength}`,
              )
        },
      ] as const,
    ]),
  ),
)
