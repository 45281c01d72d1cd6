import { readFileSync } from 'node:fs'
import { testTitles } from '../../../documents/test-titles.ts'
import type { Answer } from '../../../support/upstream/upstream.ts'
import { body, finish, has, status, text, upstreamGotNothing } from '../../checks.ts'
import {
  asOtherUser,
  asUser,
  chat,
  cleansUp,
  complete,
  file,
  get,
  noFile,
  onTools,
  post,
  type Request,
  type Row,
  reads,
  type Step,
  type System,
  sent,
  shownBy,
  soon,
  starts,
  user,
  withoutKey,
  works,
} from '../../row.ts'
import { stack } from '../stack-steps.ts'

const cancel = (keys: object, cancelled: number) => post('/api/inference/cancel', keys, has('cancelled', cancelled))
const endless = [user(JSON.stringify({ chunks: ['a', 'b'], delayMs: 3_600_000 }))]

/** A chat that ends when it is cancelled. */
function endlessChat(keys: object, more: Partial<Request> = {}): Request {
  return { call: 'POST /v1/chat/completions', body: { model: 'scripted', messages: endless, ...keys }, ...more }
}

const areRunning = (count: number, model = 'scripted') =>
  soon(get('/metrics', body(new RegExp(`slots_busy\\{model="${model}"\\} ${count}\\n`))))
const begin = (...requests: readonly Request[]) => [
  ...requests.map((request) => starts(reads(request))),
  areRunning(requests.length),
]
/** It has ended as a truncated reply does, without an error. */
const stopped = (request: Request) => reads(request, status(200), finish('length'))

/** What is found by this cancel, and nothing else that runs. */
function found(keys: object, more: Partial<Request>, by: object): readonly Step[] {
  const request = endlessChat(keys, more)
  return [...begin(request), cancel(by, 1), stopped(request)]
}

/** A request that was cancelled before it came. */
function early(id: string, request: Step): readonly Step[] {
  return [cancel({ cancel_id: id }, 0), request]
}
const answered = text('hello')
const empty = text('')

/** What requests show of a rule, besides its tests. */
function requestsOf(rule: string, id: string): readonly Step[] {
  const run = endlessChat({ cancel_id: id, session_id: `${id}-session` })
  const sibling = endlessChat({ cancel_id: `${id}-2`, session_id: `${id}-session` })
  const bySession = { session_id: `${id}-session` }
  switch (rule) {
    case 'C1':
      return [
        cancel({}, 0),
        get('/api/inference/cancel', status(405)),
        post('/v1/cancel', {}, status(404)),
        withoutKey(post('/api/inference/cancel', {}, status(401))),
      ]
    case 'C3':
      return [
        ...begin(run),
        cancel([id], 0),
        cancel({ cancel_id: 3 }, 0),
        areRunning(1),
        cancel({ cancel_id: id }, 1),
        stopped(run),
      ]
    case 'C4':
      return [...begin(run), cancel({}, 0), areRunning(1), cancel({ cancel_id: id }, 1), stopped(run)]
    case 'C5':
      return [
        ...begin(run),
        cancel({ cancel_id: `${id}-old`, ...bySession }, 0),
        areRunning(1),
        cancel(bySession, 1),
        stopped(run),
      ]
    case 'C7':
    case 'C11':
      return [...begin(run, sibling), cancel(bySession, 2), stopped(run), stopped(sibling)]
    case 'C8':
    case 'C39':
      return [
        ...begin(run, sibling),
        ...[cancel({ cancel_id: id }, 1), stopped(run), areRunning(1)],
        ...[cancel(bySession, 1), stopped(sibling)],
      ]
    case 'C9':
      return [
        cancel({ session_id: 'nothing' }, 0),
        ...[...begin(run), cancel({ cancel_id: id }, 1), stopped(run)],
        cancel({ cancel_id: `${id}-x` }, 0),
      ]
    case 'C10':
      return [
        ...found({ cancel_id: id }, {}, { cancel_id: id }),
        ...found({ session_id: id }, {}, { thread_id: id }),
        ...found({ thread_id: id }, {}, { session_id: id }),
        ...found({}, { headers: { 'x-dragoman-cancel-id': id } }, { cancel_id: id }),
        ...found({}, { headers: { 'x-dragoman-session-id': id } }, { session_id: id }),
      ]
    case 'C13':
      return [chat({ session_id: id, cancel_id: `${id}-run` }, answered), cancel({ session_id: id }, 0)]
    case 'C17':
      return [cancel({ cancel_id: id }, 0), chat({ cancel_id: id }, empty)]
    case 'C18':
      return [...early(id, chat({ cancel_id: id }, empty, finish('length'))), chat({ cancel_id: id }, answered)]
    case 'C20':
      return [cancel({ session_id: id, completion_id: id }, 0), chat({ session_id: id }, answered)]
    case 'C22':
      return [...begin(run), cancel({ cancel_id: id }, 1), stopped(run), chat({ cancel_id: id }, answered)]
    case 'C22b':
      return [
        cancel({ cancel_id: id }, 0),
        ...[chat({ session_id: id, cancel_id: `${id}-other` }, answered), chat({ cancel_id: id }, empty)],
      ]
    case 'C23':
      return early(id, chat({ model: 'vllm', cancel_id: id }, empty, upstreamGotNothing))
    case 'C38':
      return [
        ...early(`${id}-a`, complete({ cancel_id: `${id}-a` }, has('choices.0.finish_reason', 'length'))),
        ...early(`${id}-b`, chat({ cancel_id: `${id}-b`, stream: true }, finish('length'), body(/\[DONE\]/))),
        ...early(`${id}-c`, post('/v1/responses', { input: 'a', cancel_id: `${id}-c` }, has('status', 'cancelled'))),
        ...early(`${id}-d`, post('/v1/messages', message(`${id}-d`), has('stop_reason', 'max_tokens'), has('content', []))),
        ...early(`${id}-e`, stack({ cancel_id: `${id}-e` }, has('completion_message.stop_reason', 'out_of_tokens'))),
      ]
    case 'C27':
      return [
        starts(reads(toUpstream)),
        ...[areRunning(1, 'vllm'), cancel({ cancel_id: id }, 1)].map(withoutAnswer),
        stopped(toUpstream),
      ]
    case 'C34':
      return [
        ...[starts(reads(toolCall)), file('c34', /^$/)],
        ...[onTools(cancel({ cancel_id: id }, 1)), stopped(toolCall), noFile('c34', /^$/)],
      ]
    default:
      return []
  }
}

const message = (cancel_id: string) => ({ model: 'scripted', max_tokens: 9, messages: [user('a')], cancel_id })

/** An upstream that does not even send headers. */
const silent: Answer = () => undefined
const withoutAnswer = (step: Step) => sent({ upstream: silent }, step)
const toUpstream: Request = endlessChat({ model: 'vllm', cancel_id: 'c27' }, { upstream: silent })

/** A tool of an MCP server that waits, and has a file as long as it does. */
const toolCall: Request = {
  call: 'POST /v1/chat/completions',
  at: 'tools',
  body: {
    model: 'tool-user',
    messages: [user('call docs__wait {"file": "FOLDER/c34"}')],
    ...{ enable_tools: true, enabled_tools: ['docs'], cancel_id: 'c34' },
  },
}

/** The rules of docs/inside/cancel-rules.md, with their tests. */
const rules: readonly Row[] = [
  ...readFileSync('docs/inside/cancel-rules.md', 'utf8').matchAll(/^\| (C\d+b?) +\| (.+?) +\| `((?:src|test)\/[^`]+)` +\|$/gm),
].map(([, rule = '', expects = '', path = '']) => {
  const id = rule.toLowerCase()
  const requests = requestsOf(rule, id)
  const clears = [{ cancel_id: id }, { session_id: `${id}-session` }].map((keys) => cleansUp(post('/api/inference/cancel', keys)))
  return works(rule.slice(1), expects, ...requests, ...(requests.length > 0 ? clears : []), ...testsOf(rule, path))
})

/** The tests of a file that name a rule, each by the start of its title that is there before values are filled in. */
function testsOf(rule: string, path: string): readonly Step[] {
  const titles = testTitles(path).filter((title) => new RegExp(`\\b${rule}\\b`).test(title))
  const parts = titles.map((title) => title.split(/[%$]/)[0] ?? '')
  return [...new Set(parts)].map((part) => shownBy(`../${path}`, part))
}

const agentSessions = ['x-claude-code-session-id', 'session-id', 'session_id', 'x-session-id', 'x-session-affinity']
const ofUser = endlessChat({ cancel_id: 'c47', session_id: 'c47-session' }, { key: 'user' })
const differing = (name: string, field: string) =>
  sent(
    { headers: { [name]: 'b' } },
    chat({ [field]: 'a' }, status(400, new RegExp(`${field} and the header ${name} have different`))),
  )

/** What applies to clients: the page of this server is one. */
const further: readonly Row[] = [
  works(41, 'clients: a stop before the request', ...early('c41', chat({ cancel_id: 'c41' }, empty))),
  works(42, 'clients: a cancel that fails closes the connection', shownBy('e2e/page/stop.test.ts', 'C42: ')),
  works(43, 'clients: one cancel for each stop', shownBy('e2e/page/stop.test.ts', 'C43: ')),
  works(
    47,
    'a key ends only its own requests',
    ...begin(ofUser),
    ...[{ cancel_id: 'c47' }, { session_id: 'c47-session' }].map((keys) => asOtherUser(cancel(keys, 0))),
    ...[asUser(chat({ cancel_id: 'c47' }, answered)), areRunning(1)],
    ...[asUser(cancel({ session_id: 'c47-session' }, 1)), stopped(ofUser)],
    ...[asOtherUser(chat({ cancel_id: 'c47' }, empty)), cleansUp(post('/api/inference/cancel', { session_id: 'c47-session' }))],
  ),
  works(
    48,
    'the sessions that agents send in headers',
    ...agentSessions.flatMap((name) => found({}, { headers: { [name]: 'c48' } }, { session_id: 'c48' })),
    cleansUp(post('/api/inference/cancel', { session_id: 'c48' })),
  ),
  works(
    49,
    'a field and a header that differ: 400',
    differing('x-dragoman-cancel-id', 'cancel_id'),
    differing('x-dragoman-session-id', 'session_id'),
    chat({ cancel_id: 3 }, status(400, /cancel_id/)),
  ),
  works(
    50,
    'a batch: what is done is kept',
    ...early(
      'c50',
      post(
        '/v1/batch-inference/chat-completion',
        { model_id: 'scripted', cancel_id: 'c50', messages_batch: [[user('a')]] },
        has('batch.0.completion_message.stop_reason', 'out_of_tokens'),
      ),
    ),
  ),
]

/** The stop button of Unsloth Studio. */
export const unslothStop: System = {
  title: "Unsloth Studio's stop button",
  prefix: 'C',
  introduction: 'The rules of [cancelling](../cancelling.md).',
  groups: [{ title: 'rules', rows: [...rules, ...further] }],
}
