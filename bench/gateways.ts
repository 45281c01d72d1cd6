import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BenchProcess, freePort, startDragoman, startProgram, startServer } from './processes.ts'
import { pythonPrograms } from './python.ts'

/** A gateway in front of one server that has the model `up`. */
export type Gateway = { readonly name: string; start(upstream: string): Promise<BenchProcess> }

/** What `npm run bench` compares; the first is ours, and the baseline of the ratios. Then ours with each of these numbers of workers. */
export const gatewaysOf = (workerCounts: readonly number[]): readonly Gateway[] => [
  { name: 'dragoman', start: (upstream) => startDragoman([modelOn(upstream)]) },
  ...workerCounts.map((workers) => ({
    name: `dragoman, ${workers} workers`,
    start: (upstream: string) => startDragoman([modelOn(upstream)], { workers }),
  })),
  { name: 'bare proxy', start: (upstream) => startServer('proxy.ts', [upstream]) },
  {
    name: 'SMG 1.13.0',
    async start(upstream) {
      const smg = join(pythonPrograms('smg', 'smg==1.13.0'), 'smg')
      const [port, metrics] = [await freePort(), await freePort()]
      const args = ['launch', '--worker-urls', upstream, '--host', '127.0.0.1', '--port', port, '--policy', 'round_robin']
      const more = ['--prometheus-port', metrics, '--log-level', 'error']
      return warmed(await startProgram(smg, [...args, ...more].map(String), { port, path: '/health' }))
    },
  },
  {
    name: 'LiteLLM',
    async start(upstream) {
      const litellm = join(pythonPrograms('litellm', 'litellm[proxy]==1.108.7'), 'litellm')
      const port = await freePort()
      const config = join(await mkdtemp(join(tmpdir(), 'dragoman-bench-')), 'litellm.yaml')
      const params = { model: 'openai/up', api_base: `${upstream}/v1`, api_key: 'none' }
      await writeFile(config, JSON.stringify({ model_list: [{ model_name: 'up', litellm_params: params }] }))
      // It refuses to start without a key; the others have none either.
      const open = { LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true' }
      const env = { LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_LOG: 'ERROR', LITELLM_TELEMETRY: 'False', ...open }
      const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False']
      return warmed(await startProgram(litellm, args, { port, path: '/health/liveliness', env }))
    },
  },
]

function modelOn(upstream: string): object {
  return { id: 'up', engine: 'remote', endpoints: [{ url: `${upstream}/v1` }], slots: 2048, maxQueued: 2048 }
}

/** Some are healthy before they know their upstream. Rejects when no request is answered. */
async function warmed(server: BenchProcess): Promise<BenchProcess> {
  let reason = ''
  for (let attempt = 0; attempt < 100; attempt++) {
    const reply = await fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'up', messages: [{ role: 'user', content: 'hello' }] }),
    })
    reason = await reply.text()
    if (reply.ok) return server
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  server.stop()
  throw new Error(`it answers no request: ${reason.slice(0, 200)}`)
}
