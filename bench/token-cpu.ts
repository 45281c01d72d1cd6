// npx tsx bench/token-cpu.ts [--model SOURCE] [--before CHECKOUT] [--rounds N]: the CPU time of a token, with its part of a short prompt, of
// whole engines. Build first.
import { parseArgs } from 'node:util'
import { overHttp, type RunningEngine, unseen } from './engines.ts'
import { findLlamaServer, startLlamaServer } from './llama-server.ts'
import { modelFile } from './model-file.ts'
import { type BenchProcess, startDragoman } from './processes.ts'
import { cpuMs } from './processor-time.ts'
import { inTurns } from './rounds.ts'

const { values } = parseArgs({
  options: { model: { type: 'string' }, before: { type: 'string' }, rounds: { type: 'string', default: '5' } },
})
const slots = 16
const contextLength = 512
const tokens = 64
const modelPath = await modelFile(values.model)

const ours = { id: 'bench', engine: 'llama', source: modelPath, threads: 1, gpuLayers: 0, slots, contextLength }
const targets = [
  measured('dragoman', await startDragoman([ours], { storage: 'off' })),
  ...(values.before === undefined
    ? []
    : [measured('before', await startDragoman([ours], { storage: 'off', checkout: values.before }))]),
  measured('llama-server', await startLlamaServer({ program: findLlamaServer(), modelPath, slots, contextLength })),
]

for (const { run } of targets) await run({ prompts: unseen(slots, 'it was'), tokens: 4 })
for (const streams of [1, 2, 4, 8, 16]) {
  const { samples } = await inTurns(
    targets,
    async ({ pid, run }) => {
      const before = cpuMs(pid)
      const done = await run({ prompts: unseen(streams, 'and the old man'), tokens })
      return (cpuMs(pid) - before) / done.tokens
    },
    { rounds: Number(values.rounds), limitMs: Number.POSITIVE_INFINITY },
  )
  const base = median(samples.get('llama-server') ?? [])
  const cells = [...samples].map(([name, all]) => `${name} ${median(all).toFixed(2)} ms (${(median(all) / base).toFixed(2)})`)
  console.log(`${streams} streams: ${cells.join(', ')}`)
}
for (const { stop } of targets) stop()
process.exit(0)

type Target = RunningEngine & { readonly name: string; readonly pid: number }

function measured(name: string, server: BenchProcess): Target {
  return { name, pid: server.pid, ...overHttp(server) }
}

function median(all: readonly number[]): number {
  return [...all].sort((a, b) => a - b)[all.length >> 1] ?? Number.NaN
}
