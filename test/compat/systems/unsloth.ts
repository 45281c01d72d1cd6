import { readFileSync } from 'node:fs'
import { has, status, text } from '../checks.ts'
import { chat, get, post, type Row, type Step, type System, shownBy, works } from '../row.ts'
import { unslothChats } from './unsloth-chats.ts'
import { unslothModels } from './unsloth-models.ts'
import { unslothProtocols } from './unsloth-protocols.ts'

/** Unsloth Studio's server of inference. */
export const unsloth: System = {
  title: 'Unsloth Studio',
  prefix: 'U',
  introduction: 'Its routes are below /api/inference and /v1; training, data and logins are not here.',
  groups: [...unslothModels, ...unslothChats, ...unslothProtocols],
}

const cancel = (body: object, cancelled: number) => post('/api/inference/cancel', body, has('cancelled', cancelled))
/** What a request shows besides the test of a rule. */
const requests: Readonly<Record<string, readonly Step[]>> = {
  C1: [cancel({}, 0), get('/api/inference/cancel', status(405)), post('/v1/cancel', {}, status(404))],
  C3: [cancel([], 0), cancel({ cancel_id: 3 }, 0)],
  C9: [cancel({ session_id: 'nothing' }, 0), cancel({ session_id: 'nothing' }, 0)],
  C18: [cancel({ cancel_id: 'early' }, 0), chat({ cancel_id: 'early' }, text(/^$/)), chat({ cancel_id: 'early' }, text('hello'))],
}

/** The rules of docs/cancelling.md, each with its test. */
const rules: readonly Row[] = [
  ...readFileSync('docs/cancelling.md', 'utf8').matchAll(
    /^\| (C\d+b?) +\| (.+?) +\| `test\/([^`]+)` +\|$|^\| (C\d+b?) +\| (.+?) +\| `(src\/[^`]+)` +\|$/gm,
  ),
].map(([, rule, expects, file, sourceRule, sourceExpects, source]) => {
  const id = rule ?? sourceRule ?? ''
  return works(id.slice(1), expects ?? sourceExpects ?? '', ...(requests[id] ?? []), shownBy(file ?? `../${source}`, id))
})

/** What applies to clients: the page of this server is one. */
const page = shownBy('e2e/page/chat.test.ts', 'Escape stops an answer, also for the engine')
const further: readonly Row[] = [
  works(41, 'clients: a stop before the request', cancel({ cancel_id: 'soon' }, 0), chat({ cancel_id: 'soon' }, text(/^$/))),
  works(42, 'clients: a cancel that fails closes the connection', page),
  works(43, 'clients: one cancel for each stop', cancel({ cancel_id: 'once' }, 0), page),
  works(
    47,
    'a key ends only its own requests',
    shownBy('../src/core/cancel/cancel-requested.test.ts', 'finds only the runs of its caller'),
  ),
  works(
    48,
    'the sessions that agents send in headers',
    shownBy('../src/http/routes/own/cancel-route.test.ts', 'x-claude-code-session-id'),
  ),
  works(
    49,
    'a field and a header that differ: 400',
    post(
      '/v1/chat/completions',
      { model: 'scripted', messages: [{ role: 'user', content: 'a' }], cancel_id: 3 },
      status(400, /cancel_id/),
    ),
  ),
  works(
    50,
    'a batch: what is done is kept',
    cancel({ cancel_id: 'early-batch' }, 0),
    post(
      '/v1/batch-inference/chat-completion',
      { model_id: 'scripted', cancel_id: 'early-batch', messages_batch: [[{ role: 'user', content: 'a' }]] },
      has('batch.0.completion_message.stop_reason', 'out_of_tokens'),
    ),
  ),
]

/** The stop button of Unsloth Studio. */
export const unslothStop: System = {
  title: "Unsloth Studio's stop button",
  prefix: 'C',
  introduction: 'The rules of [cancelling.md](cancelling.md).',
  groups: [{ title: 'rules', rows: [...rules, ...further] }],
}
