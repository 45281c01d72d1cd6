import { fork } from 'node:child_process'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { importLlamaFrom } from './import-from.ts'

const answerSchema = z.union([
  z.object({ gpu: z.string(), devices: z.array(z.string()), mathCores: z.number() }),
  z.object({ failure: z.string() }),
])

/** The hardware that llama.cpp runs on, or why it does not run. */
type Backend = z.infer<typeof answerSchema>

/** Loads llama.cpp in a child process, so that a driver that aborts ends only that process. Never rejects. */
export function findBackend(enginePath?: string): Promise<Backend> {
  const extension = extname(fileURLToPath(import.meta.url))
  const child = fork(fileURLToPath(new URL(`./worker/probe${extension}`, import.meta.url)), [], {
    stdio: 'ignore',
    execArgv: [
      ...(extension === '.ts' ? ['--import', 'tsx'] : []),
      ...(enginePath === undefined ? [] : importLlamaFrom(enginePath)),
    ],
  })
  return new Promise((resolve) => {
    child.once('message', (message) => resolve(answerSchema.parse(message)))
    child.once('error', (error) => resolve({ failure: error.message }))
    child.once('exit', (code, signal) => resolve({ failure: `the process that loads it ended (${signal ?? `code ${code}`})` }))
  })
}
