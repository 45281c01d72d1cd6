import { z } from 'zod'
import { OutputTail } from '../../base/output-tail.ts'
import { causeOf } from '../supervise/cause.ts'
import { forkScript } from './fork-script.ts'

const answerSchema = z.union([
  z.object({
    gpu: z.string(),
    gpus: z.array(
      z.object({
        name: z.string(),
        description: z.string(),
        freeBytes: z.number(),
        totalBytes: z.number(),
        isShared: z.literal(true).exactOptional(),
      }),
    ),
    gpuBytes: z.number(),
    mathCores: z.number(),
  }),
  z.object({ failure: z.string() }),
])

/** The hardware that llama.cpp runs on, or why it does not run. */
type Backend = z.infer<typeof answerSchema>

/** `modelPath`: of a small model to compute with. `enginePath`: the folder to import node-llama-cpp from. */
type Options = { readonly modelPath: string; readonly enginePath?: string | undefined }

/**
 * Loads llama.cpp and computes with a model, on the GPU if there is one: a build may load and still not support this GPU or its driver.
 * Runs in a child process, so that an aborting driver ends only that. Never rejects.
 */
export function findBackend({ modelPath, enginePath }: Options): Promise<Backend> {
  const child = forkScript('probe', { args: [modelPath], enginePath })
  const tail = new OutputTail(() => undefined)
  tail.read(child.stdout, child.stderr)
  return new Promise((resolve) => {
    child.once('message', (message) => resolve(answerSchema.parse(message)))
    child.once('error', (error) => resolve({ failure: error.message }))
    // `close` comes after the last output, which names the reason.
    child.once('close', (code, signal) => {
      const cause = causeOf(tail.lines)
      resolve({ failure: `the process that tries it ended (${signal ?? `code ${code}`})${cause === '' ? '' : `: ${cause}`}` })
    })
  })
}
