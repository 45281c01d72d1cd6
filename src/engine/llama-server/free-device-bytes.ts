import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const timeoutMs = 10_000

/** The free memory of the devices that a llama-server finds besides the CPU; 0: it has none, or does not report it. */
export async function freeDeviceBytes(binary: string): Promise<number> {
  try {
    const { stdout, stderr } = await promisify(execFile)(binary, ['--list-devices'], { timeout: timeoutMs })
    return readFreeBytes(stdout + stderr)
  } catch {
    // Older builds lack this argument; any other fault shows at the start.
    return 0
  }
}

/** Sums lines such as `CUDA0: NVIDIA A10 (22731 MiB, 22402 MiB free)`. */
export function readFreeBytes(list: string): number {
  return [...list.matchAll(/\(\d+ MiB, (\d+) MiB free\)/g)].reduce((sum, [, free]) => sum + Number(free) * 2 ** 20, 0)
}
