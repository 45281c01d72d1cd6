import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DescriptorLog } from './descriptor-log.ts'

const { O_NONBLOCK, O_RDWR } = constants

/** A pipe whose reader is as slow as the test. */
function openPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'dragoman-log-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const fd = openSync(path, O_RDWR | O_NONBLOCK)
  onTestFinished(() => {
    closeSync(fd)
    rmSync(folder, { recursive: true })
  })
  const buffer = Buffer.alloc(64 * 1024)
  let text = ''
  /** All that has been read when it ends so. */
  async function until(end: RegExp): Promise<string> {
    const read = () => {
      try {
        text += buffer.toString('latin1', 0, readSync(fd, buffer))
      } catch {
        // It is empty.
      }
      return text
    }
    await expect.poll(read, { timeout: 10_000, interval: 10 }).toMatch(end)
    return text
  }
  return { fd, until }
}

test('lines wait for a reader that is slow, each once and in their order', async () => {
  const { fd, until } = openPipe()
  const log = new DescriptorLog(fd)
  const lines = Array.from({ length: 200 }, (_, i) => `${i} ${'x'.repeat(1000)}\n`)
  for (const line of lines) log.write(line)
  expect(await until(/\n199 x+\n$/)).toBe(lines.join(''))
})

test('lines beyond what may wait are lost, and counted', async () => {
  const { fd, until } = openPipe()
  const log = new DescriptorLog(fd, { mostChars: 100_000 })
  // The first is written without a wait.
  for (let i = 0; i < 6; i += 1) log.write(`${i} ${'x'.repeat(50_000)}\n`)
  await until(/\n1 x{50000}\n$/)
  log.write('next\n')
  expect(await until(/next\n$/)).toMatch(
    /x\n\n\{"level":40,"time":\d+,"pid":\d+,"msg":"4 lines of the log were lost: their reader is slow"\}\nnext\n$/,
  )
})

/** Runs a program with a log to this file, and resolves with how it ended. */
function logTo(path: string) {
  const module = new URL('descriptor-log.ts', import.meta.url)
  const program = `
    import { openSync } from 'node:fs'
    import { setTimeout } from 'node:timers/promises'
    const { DescriptorLog } = await import(${JSON.stringify(module.href)})
    const log = new DescriptorLog(openSync(${JSON.stringify(path)}, 'w'))
    for (let i = 0; i < 3; i += 1) {
      log.write('a line\\n')
      await setTimeout(20)
    }
    log.write('the last line\\n')
    console.log('done')
    process.exit(3)`
  return spawnSync(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', program], {
    timeout: 20_000,
    encoding: 'utf8',
  })
}

test.skipIf(process.platform !== 'linux')('on a full disk, a process goes on and ends', () => {
  expect(logTo('/dev/full')).toMatchObject({ stdout: 'done\n', stderr: '', status: 3 })
})
