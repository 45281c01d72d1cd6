import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

/** The ffmpeg of this machine; undefined where there is none. */
export const ffmpegProgram: string | undefined = (process.env.PATH ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'ffmpeg'))
  .find((path) => existsSync(path))

/** Why tests with ffmpeg are skipped. */
export const ffmpegHint = ffmpegProgram === undefined ? ' (skipped: there is no ffmpeg on PATH)' : ''

/** What ffmpeg makes of its own test sources, such as `testsrc2=size=64x48:rate=10`; in a file, where it can go back and write an index. */
export function synthesize(source: string, seconds: number, output: readonly string[]): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-synthetic-'))
  const path = join(folder, 'media')
  const args = ['-v', 'error', '-f', 'lavfi', '-i', source, '-t', `${seconds}`, '-bitexact', ...output, path]
  try {
    const { stderr, status } = spawnSync(ffmpegProgram ?? 'ffmpeg', args)
    if (status !== 0) throw new Error(`ffmpeg failed: ${stderr}`)
    return readFileSync(path)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
