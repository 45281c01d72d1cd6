import { finish, has, header, status, text } from '../checks.ts'
import {
  asUser,
  better,
  chat,
  differs,
  elsewhere,
  type Group,
  get,
  imagePart,
  post,
  type Row,
  sent,
  shownBy,
  user,
  works,
} from '../row.ts'
import { finished, ids, load, unloadModel } from './tabby-steps.ts'

const server: readonly Row[] = [
  works(
    28,
    'a busy port: the next one, with `server.portFallback`',
    shownBy('../src/app/serving/listen.test.ts', 'with a fallback, the next free port is used, and the log says so'),
  ),
  works(
    29,
    '`disable_fetch_requests`: `media.urls: off`',
    elsewhere(
      post(
        '/llm/v1/chat/completions',
        { messages: [user([imagePart('SITE/red.png')])] },
        status(400, /is not fetched here \(media\.urls\)/),
      ),
    ),
    chat({ messages: [user([imagePart('SITE/red.png')])] }, text(/image\/png/)),
  ),
  differs(
    30,
    [
      '`disable_request_streaming`: whole replies',
      '`server.streaming: false`: the events come at once, when the answer is complete',
    ],
    elsewhere(post('/llm/v1/chat/completions', { stream: true, messages: [user('a b')] }, text('a b'), finish('stop'))),
    shownBy('../src/http/run/serve-dialect.test.ts', 'comes at once where streaming is off, with the same events'),
  ),
  differs(
    31,
    ['`send_tracebacks`', 'the log has the cause, with the id of the request; replies have no internals'],
    chat(
      { messages: [user('{"chunks":[],"failAfter":0}')] },
      status(500, /^(?!.*(\\n|\.[jt]s:\d|trace))/),
      header('x-request-id', /^req_/),
    ),
    shownBy('../src/app/log/log.test.ts', 'an error is logged with its cause'),
  ),
  works(
    32,
    '`sse_ping_interval`: `server.heartbeatMs`, 0 is off',
    shownBy('../src/http/run/serve-dialect.test.ts', 'opens with a heartbeat and sends more'),
    shownBy('../src/http/run/serve-dialect.test.ts', 'has no heartbeat where they are off'),
  ),
]

const withHeader = (headers: Readonly<Record<string, string>>, step: ReturnType<typeof get>) =>
  sent({ headers, key: 'none' }, step)
const permission = (wanted: string) => get('/v1/auth/permission', has('permission', wanted))

const keys: readonly Row[] = [
  better(
    33,
    ['an API key', 'any number, with scopes, models, limits and an expiry'],
    asUser(
      get(
        '/v1/models',
        ids((all) => all.includes('scripted')),
      ),
    ),
    withHeader({ authorization: 'Bearer other' }, get('/v1/models', status(401))),
    sent({ key: 'reader' }, get('/v1/models', status(403, /scope/))),
    shownBy('../src/app/keys/key-models.test.ts', 'gets one of them where it names none'),
    shownBy('../src/app/keys/key-models.test.ts', 'a configured key that has expired is refused'),
    shownBy('../src/quota/quotas.test.ts', 'requests are counted per minute, which begins with the first'),
  ),
  works(
    34,
    'an admin key',
    withHeader({ 'x-admin-key': 'admin' }, permission('admin')),
    withHeader({ 'x-admin-key': 'user' }, permission('api')),
    withHeader({ 'x-admin-key': 'admin', 'x-api-key': 'user' }, permission('admin')),
  ),
  works(
    35,
    '`X-Api-Key` and bearer',
    withHeader({ 'x-api-key': 'user' }, permission('api')),
    withHeader({ authorization: 'Bearer user' }, permission('api')),
    withHeader({ 'x-api-key': 'wrong' }, get('/v1/auth/permission', status(401))),
    withHeader({ authorization: 'Bearer wrong' }, get('/v1/auth/permission', status(401))),
  ),
  works(
    36,
    'a file of keys, read again when it changes',
    shownBy(
      'e2e/server/reload.test.ts',
      'a key that is made, revoked or expires takes effect at once, and a stream that it began goes on',
    ),
  ),
  better(
    37,
    ['keys are printed at the start', 'and never in the log here'],
    shownBy('e2e/install/cli.test.ts', 'reachable from elsewhere it makes a key, shows it once, and asks for it'),
  ),
  works(38, '`disable_auth`: no key is configured', elsewhere(get('/llm/v1/models', has('data.0.id', 'any')))),
  works(
    39,
    'a request without `model`: the one that was loaded',
    load({ model_name: 'short' }, finished),
    post('/v1/chat/completions', { messages: [user('a')] }, has('model', 'short'), text('a')),
    unloadModel(),
    post('/v1/chat/completions', { messages: [user('a')] }, has('model', 'scripted')),
  ),
  differs(
    40,
    ['another name is answered by the loaded model', 'a 404 with the names, unless it is an alias'],
    chat({ model: 'zzz' }, status(404, /available: scripted/)),
    chat({ model: 'gpt-x' }, has('model', 'scripted')),
  ),
  works(
    41,
    'a model is loaded by its name in a request',
    load({ model_name: 'tiny' }, finished),
    unloadModel(),
    get(
      '/v1/models/tiny',
      has('state', (state: string) => state !== 'ready'),
    ),
    asUser(chat({ model: 'tiny', max_tokens: 2 }, has('model', 'tiny'), text(/./))),
    get('/v1/models/tiny', has('state', 'ready')),
  ),
  works(42, 'dummy names: `aliases`', chat({ model: 'gpt-3.5-turbo' }, has('model', 'scripted'), text('hello'))),
  differs(
    43,
    ['`tabby_config.yml` of a model', 'settings and `defaults` in the configuration'],
    shownBy(
      'e2e/models/model-settings.test.ts',
      'are those of its file, overridden by the configuration; unsupported ones are reported',
    ),
    shownBy('e2e/models/model-settings.test.ts', 'hold for a request that says nothing'),
  ),
  works(44, 'replies name the loaded model', chat({ model: 'default' }, has('model', 'scripted'))),
]

/** The server of tabbyAPI, its keys, and the names of models. */
export const tabbyServer: readonly Group[] = [
  { title: 'server', rows: server },
  { title: 'keys and models', rows: keys },
]
