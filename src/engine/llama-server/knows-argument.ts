import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const timeoutMs = 10_000

/** Whether a llama-server has an argument, by its help; it refuses to start with one that it does not know. */
export async function knowsArgument(binary: string, argument: string): Promise<boolean> {
  try {
    const { stdout, stderr } = await promisify(execFile)(binary, ['--help'], { timeout: timeoutMs })
    return (stdout + stderr).split(/[\s,]+/).includes(argument)
  } catch {
    // What is wrong with it shows at the start.
    return false
  }
}
