// A server on standard input and output for tests, which behaves badly on request: `node program.mjs MODE`.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const [mode = 'good', argument] = process.argv.slice(2)
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const tool = (name, more = {}) => ({ name, description: `the tool ${name}`, inputSchema: { type: 'object' }, ...more })

let tools = [
  tool('echo', { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }),
  tool('add.more'),
  tool('wait'),
]
tools = [...tools, tool('die'), tool('environment'), tool('flood'), tool('line'), tool('wrong'), tool('cancelled'), tool('liar')]
tools = [...tools, tool('complain'), tool('ask')]
const cancelled = []
/** Files that say which calls run, by the ids of these. */
const running = new Map()

/** Sends as long as it is taken: messages, or a line without an end. */
function pour(next) {
  const write = () => {
    const messages = [next()].flat()
    return process.stdout.write(
      messages.map((message) => (message === undefined ? 'x'.repeat(1e6) : `${JSON.stringify(message)}\n`)).join(''),
    )
  }
  while (write());
  process.stdout.once('drain', () => pour(next))
}

if (mode === 'mute') setInterval(() => undefined, 1000)
if (mode === 'exit') process.exit(3)
if (mode === 'family') {
  // It ignores the polite signal, and has a child that does, too.
  process.on('SIGTERM', () => undefined)
  const child = spawn(process.execPath, ['-e', "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)"], {
    stdio: 'inherit',
  })
  writeFileSync(argument, `${process.pid} ${child.pid}`)
}
if (mode === 'daemons') {
  // One leads a session of its own, and knows nothing of the environment; another has lost its parent, too.
  const below = spawn('setsid', ['sleep', '1000'], { stdio: 'inherit', env: { PATH: process.env.PATH } })
  const orphan = spawnSync('sh', ['-c', 'setsid sleep 1000 >/dev/null & echo $!'], { stdio: ['ignore', 'pipe', 'inherit'] })
  writeFileSync(argument, `${process.pid} ${below.pid} ${orphan.stdout.toString().trim()}`)
}
if (mode === 'noisy') {
  process.stdout.write('Welcome to this server!\n{"not": "a message"}\n')
  process.stderr.write('starting\n')
}

const answers = {
  initialize: ({ params }) => ({
    protocolVersion: params.protocolVersion,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'test', version: '1' },
  }),
  'tools/list': ({ params }) => {
    if (mode === 'no-list') return { tools: 'all of them' }
    if (mode === 'endless')
      return { tools: [tool(`t${params?.cursor ?? 0}`)], nextCursor: String(Number(params?.cursor ?? 0) + 1) }
    if (mode === 'huge-schema')
      return { tools: [tool('big', { inputSchema: { type: 'object', title: 'x'.repeat(40_000) } }), tool('echo')] }
    return { tools }
  },
  'tools/call': ({ id, params: { name, arguments: args } }) => {
    switch (name) {
      case 'echo':
        return { content: [{ type: 'text', text: String(args.text) }] }
      case 'add.more':
        tools = [...tools, tool(`more${tools.length}`)]
        send({ method: 'notifications/tools/list_changed' })
        return { content: [{ type: 'text', text: 'added' }] }
      case 'wait':
        if (args?.file !== undefined) {
          running.set(id, args.file)
          writeFileSync(args.file, '')
        }
        return undefined
      case 'die':
        return process.exit(7)
      case 'environment':
        return { content: [{ type: 'text', text: JSON.stringify(process.env) }] }
      case 'flood':
        return void pour(() => ({
          jsonrpc: '2.0',
          method: 'notifications/message',
          params: { level: 'info', data: 'x'.repeat(1e6) },
        }))
      case 'line':
        return void pour(() => undefined)
      case 'complain': {
        // To its standard error, without a line break.
        const piece = 'x'.repeat(1e6)
        const go = (times) => {
          if (times > 0) process.stderr.write(piece, () => go(times - 1))
          else send({ id, result: { content: [{ type: 'text', text: 'complained' }] } })
        }
        return void go(args.megabytes)
      }
      case 'ask':
        // Without listening to the answers: a response, known or not, says that it still works.
        process.stdin.pause()
        return void pour(() => [
          { jsonrpc: '2.0', id: `ping${'x'.repeat(1e5)}`, method: 'ping' },
          { jsonrpc: '2.0', id: 'nobody', result: {} },
        ])
      case 'wrong':
        return { content: [{ type: 'nonsense' }] }
      case 'cancelled':
        return { content: [{ type: 'text', text: JSON.stringify(cancelled) }] }
      case 'liar':
        return { content: [{ type: 'text', text: 'x' }], structuredContent: { not: 'as promised' }, isError: 'yes' }
      default:
        send({ id, error: { code: -32602, message: `unknown tool ${name}` } })
        return undefined
    }
  },
}

createInterface(process.stdin).on('line', async (line) => {
  if (mode === 'mute') return
  // It says nothing before a test lets it.
  while (mode === 'late' && !existsSync(join(dirname(argument), 'release'))) await sleep(20)
  const message = JSON.parse(line)
  if (message.method === 'notifications/cancelled') {
    const { requestId } = message.params
    cancelled.push(requestId)
    if (running.has(requestId)) rmSync(running.get(requestId), { force: true })
  }
  const result = message.id === undefined ? undefined : answers[message.method]?.(message)
  if (result !== undefined) send({ id: message.id, result })
})
