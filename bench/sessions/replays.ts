import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { startDragoman } from '../processes.ts'
import { writeCoarse } from './coarse-copy.ts'

// What `dragoman replay --diff` finds in captured turns of an agent: on the same model, on one with a broken template, and on coarser weights.
//   npm run build && npx tsx bench/sessions/replays.ts

const program = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'program.js')
const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
}))
const cities =
  'Oslo Paris Rome Madrid Berlin Vienna Lisbon Prague Warsaw Athens Dublin Helsinki Stockholm Brussels Budapest Cairo Tokyo Lima Quito Ottawa Canberra Nairobi Delhi Ankara Bern Kyiv Riga Sofia Tallinn Zagreb'.split(
    ' ',
  )
const questions = [
  'What is the weather in %?',
  'What time is it in %?',
  'Is it warm in % now?',
  'Hello from %!',
  'Tell me the weather in %, please.',
  'I am in %. What is the time?',
]
const wanted = 500
const few = 50

type Call = { readonly id: string; readonly function: { readonly name: string } }
type Message = {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly Call[]
  readonly tool_call_id?: string
}

/** Runs an agent's loop for each question, until the server has captured as many requests as wanted. */
async function converse(url: string): Promise<void> {
  let sent = 0
  for (const question of questions) {
    for (const city of cities) {
      const messages: Message[] = [{ role: 'user', content: question.replace('%', city) }]
      for (let turn = 0; turn < 3; turn++) {
        if (sent++ === wanted) return
        const reply = await fetch(`${url}/v1/chat/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ model: 'tiny', messages, tools, max_tokens: 48, temperature: 0, seed: 1 }),
        })
        const { choices } = (await reply.json()) as { choices: readonly { readonly message: Message }[] }
        const message = choices[0]?.message
        if (message === undefined) throw new Error('a reply has no choice')
        messages.push(message)
        const calls = message.tool_calls ?? []
        const result = (call: Call) =>
          call.function.name === 'get_time' ? '{"time": "12:30"}' : '{"sky": "clear", "degrees": 21}'
        for (const call of calls) messages.push({ role: 'tool', tool_call_id: call.id, content: result(call) })
        // A question that follows gives a turn with a longer prompt.
        if (calls.length === 0) messages.push({ role: 'user', content: `And the weather in ${cities[sent % cities.length]}?` })
      }
    }
  }
}

const folder = await mkdtemp(join(tmpdir(), 'dragoman-replays-'))
try {
  const captureFolder = join(folder, 'captured')
  await mkdir(captureFolder)
  const chatTemplate = join(folder, 'broken.jinja')
  await writeFile(chatTemplate, '{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}')
  const tiny = { engine: 'llama', contextLength: 2048, slots: 1, threads: 1, gpuLayers: 0 }
  const source = 'builtin:dragoman-tiny.gguf'
  const coarse = [3, 2, 1]
  for (const bits of coarse) await writeCoarse(join(folder, `${bits}.gguf`), { from: builtinModel.path, bits })
  const models = [
    { id: 'tiny', ...tiny, source },
    { id: 'broken-template', ...tiny, source, chatTemplate },
    ...coarse.map((bits) => ({ id: `${bits}-bits`, ...tiny, source: join(folder, `${bits}.gguf`) })),
  ]
  const first = await startDragoman(models, { storage: 'off', captureFolder })
  await converse(first.url).finally(() => first.stop())
  const files = (await readdir(captureFolder)).sort().map((file) => join(captureFolder, file))
  console.log(`${files.length} captured turns`)
  const second = await startDragoman(models, { storage: 'off' })
  const diff = (model: string, count: number) => {
    const args = ['replay', ...files.slice(0, count), '--against', model, '--diff', '--server', second.url]
    const { stdout, stderr, status } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' })
    console.log(`${model}: ${stdout.trim().split('\n').at(-1)} ${stderr} (exit code ${status})`)
  }
  for (const { id } of models.slice(1)) diff(id, few)
  diff('tiny', wanted)
  second.stop()
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
}
