import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startDragoman } from './processes.ts'
import { median, printTable } from './report.ts'

/**
 * Tokens per second through HTTP, against a bare node-llama-cpp loop on the same file with the same threads, slots and
 * sampling. Both run alternately; prompts are new each time, to avoid cache hits.
 *
 *   npm run bench:tokens -- MODEL.gguf
 */

const rounds = 5
const slots = 8
const clientCounts = [1, 4, 8]
const tokensPerReply = 128
const contextLength = 1024
const threads = 1

const promptOf = (round: number, client: number) =>
  `Round ${round}, reader ${client}: tell me a long story about the sea, in plain words.`

async function startBare(modelPath: string): Promise<ChildProcess> {
  const child = fork(fileURLToPath(new URL('./servers/bare-llama.ts', import.meta.url)), [], { execArgv: ['--import', 'tsx'] })
  child.send({ type: 'load', modelPath, slots, contextLength, threads })
  await new Promise((resolve) => child.once('message', resolve))
  return child
}

function runBare(child: ChildProcess, prompts: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    child.once('message', (message) => resolve((message as { tokensPerSecond: number }).tokensPerSecond))
    child.send({ type: 'run', prompts, tokens: tokensPerReply })
  })
}

async function runHttp(url: string, prompts: readonly string[]): Promise<number> {
  const startedMs = performance.now()
  const counts = await Promise.all(prompts.map((prompt) => streamReply(url, prompt)))
  return (counts.reduce((sum, count) => sum + count, 0) / (performance.now() - startedMs)) * 1000
}

/** Reads a streamed reply. Resolves with the server's token count. */
async function streamReply(url: string, prompt: string): Promise<number> {
  const reply = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'bench',
      messages: [{ role: 'user', content: prompt }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: tokensPerReply,
      ignore_eos: true,
      temperature: 0,
    }),
  })
  let last = ''
  for await (const piece of reply.body ?? []) last = last.slice(-2000) + Buffer.from(piece).toString('latin1')
  return Number(/"completion_tokens":(\d+)/.exec(last)?.[1])
}

const [modelPath] = process.argv.slice(2)
if (modelPath === undefined) throw new Error('usage: npm run bench:tokens -- MODEL.gguf')
const bare = await startBare(modelPath)
const dragoman = await startDragoman([{ id: 'bench', engine: 'llama', source: modelPath, slots, contextLength, threads }])
const rows: (string | number)[][] = []
for (const clients of clientCounts) {
  const samples = { bare: [] as number[], http: [] as number[] }
  for (let round = 0; round <= rounds; round++) {
    const prompts = Array.from({ length: clients }, (_, client) => promptOf(round * 100 + clients, client))
    const bareRate = await runBare(bare, prompts)
    const httpRate = await runHttp(dragoman.url, prompts)
    // The first round warms both up.
    if (round === 0) continue
    samples.bare.push(bareRate)
    samples.http.push(httpRate)
  }
  const ratios = samples.http.map((rate, index) => rate / (samples.bare[index] ?? Number.NaN))
  rows.push([
    `${clients} client${clients === 1 ? '' : 's'}: tokens/s`,
    median(samples.http),
    median(samples.bare),
    median(ratios),
  ])
}
printTable([`median of ${rounds} rounds`, 'dragoman', 'bare loop', 'ratio'], rows)
bare.kill()
dragoman.stop()
