import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { openAgentHost } from '../../test/agents/agent-host.ts'
import { writeTrainedFor } from '../../test/support/llama/trained-for.ts'
import { findLlamaServer, startLlamaServer } from '../llama-server.ts'
import { startDragoman } from '../processes.ts'

// The tokens that are reused in a session of the real Claude Code, whose model plays a script of five turns with a command each: what it sent is
// sent again to Dragoman and to a llama-server, both with dragoman-tiny and one slot.
//   npm run agents && npm run build && npx tsx bench/sessions/claude-session.ts

const turns = 5
const contextLength = 65_536
/** Few tokens: the answers of the session are those of the script. */
const answerTokens = 4

type Body = Readonly<Record<string, unknown>>
type Read = { readonly prompt: number; readonly cached: number; readonly ms: number }

const call = (step: number) =>
  `<tool_call>${JSON.stringify({ name: 'Bash', arguments: { command: `echo step ${step}; ls -la`, description: 'Look' } })}</tool_call>`

async function record(folder: string): Promise<readonly Body[]> {
  const captureFolder = join(folder, 'captured')
  await mkdir(captureFolder)
  const steps = Array.from({ length: turns - 1 }, (_, index) => turns - 1 - index)
  const script = [
    { result: `step ${turns}\\b`, reply: { raw: 'Everything is in its place.' } },
    ...steps.map((step) => ({ result: `step ${step}\\b`, reply: { raw: call(step + 1) } })),
    { match: 'place', reply: { raw: call(1) } },
    { reply: { raw: 'Files' } },
  ]
  await writeFile(join(folder, 'script.json'), JSON.stringify(script))
  const model = { id: 'scripted', engine: 'fake', script: join(folder, 'script.json'), toolFormat: 'hermes', contextLength }
  const host = await openAgentHost({ models: [model], log: { captureFolder } })
  try {
    const agent = ['-p', 'Is every file in its place?', '--allowedTools', 'Bash']
    const run = await host.start('claude', { launch: [], agent, files: { 'notes.txt': 'Pears.' } })
    if ((await run.ended) !== 0) throw new Error(`claude failed: ${run.err()}`)
  } finally {
    await host.close()
  }
  const files = (await readdir(captureFolder)).sort()
  const requests = await Promise.all(files.map(async (file) => JSON.parse(await readFile(join(captureFolder, file), 'utf8'))))
  return requests.filter(({ path }) => /^\/v1\/messages(\?|$)/.test(path)).map(({ body }) => body)
}

async function replay(url: string, bodies: readonly Body[]): Promise<readonly Read[]> {
  const reads: Read[] = []
  for (const body of bodies) {
    const asked = { ...body, model: 'bench', stream: false, max_tokens: answerTokens, temperature: 0 }
    const startedMs = performance.now()
    const reply = await fetch(`${url}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify(asked),
    })
    if (!reply.ok) throw new Error(`${url}: ${reply.status} ${await reply.text()}`)
    const { usage } = (await reply.json()) as { usage: Readonly<Record<string, number | undefined>> }
    const cached = usage.cache_read_input_tokens ?? 0
    const ms = performance.now() - startedMs
    reads.push({ ms, cached, prompt: (usage.input_tokens ?? 0) + cached + (usage.cache_creation_input_tokens ?? 0) })
  }
  return reads
}

const sum = (reads: readonly Read[], of: keyof Read) => reads.reduce((total, read) => total + read[of], 0)
const folder = await mkdtemp(join(tmpdir(), 'claude-session-'))
try {
  const bodies = await record(folder)
  const modelPath = join(folder, 'long.gguf')
  await writeTrainedFor(modelPath, { from: builtinModel.path, tokens: contextLength })
  const model = { id: 'bench', engine: 'llama', source: modelPath, threads: 1, gpuLayers: 0, slots: 1, contextLength }
  const starts = {
    dragoman: () => startDragoman([model], { storage: 'off' }),
    'llama-server': () => startLlamaServer({ program: findLlamaServer(), modelPath, slots: 1, contextLength, more: ['--jinja'] }),
  }
  console.log(`${bodies.length} requests`)
  for (const [name, start] of Object.entries(starts)) {
    const server = await start()
    const reads = await replay(server.url, bodies).finally(() => server.stop())
    for (const { prompt, cached, ms } of reads)
      console.log(`${name}: ${prompt} tokens, ${cached} reused, ${(ms / 1000).toFixed(1)} s`)
    const [prompt, cached] = [sum(reads, 'prompt'), sum(reads, 'cached')]
    console.log(
      `${name}: ${cached} of ${prompt} tokens reused, ${((100 * cached) / prompt).toFixed(1)} %; computed ${prompt - cached}`,
    )
  }
} finally {
  await rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 500 })
}
