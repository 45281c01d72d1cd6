import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { createDragoman } from '../../../src/app/create-dragoman.ts'

const program = join(import.meta.dirname, '../../../dist/cli/program.js')
const echo = { id: 'echo', engine: 'fake', script: 'from-request' } as const

/** A server that captures what it gets, with some turns, and how to replay them on it. */
async function openCapturing(questions: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-replays-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const captureFolder = join(folder, 'captured')
  const config = { server: { port: 0 }, storage: 'off', builtinModel: false, log: { captureFolder }, models: [echo] } as const
  const dragoman = await createDragoman({ config })
  onTestFinished(() => dragoman.close())
  const url = await dragoman.listen()
  for (const content of questions) {
    const body = JSON.stringify({ model: 'echo', messages: [{ role: 'user', content }] })
    await (
      await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).text()
  }
  await expect.poll(async () => (await readdir(captureFolder)).length).toBe(questions.length)
  const replay = async (...args: readonly string[]) => {
    const failed = (error: { readonly code: number; readonly stdout: string; readonly stderr: string }) => error
    const all = [program, 'replay', captureFolder, '--server', url, ...args]
    const { stdout, stderr, ...rest } = await promisify(execFile)(process.execPath, all).catch(failed)
    return { code: 'code' in rest ? rest.code : 0, output: stdout + stderr }
  }
  return { folder, captureFolder, replay }
}

test('a replay on the server that captures is not replayed by the next one, and a script has each turn once', async () => {
  const { folder, captureFolder, replay } = await openCapturing(['one', 'two', 'two'])
  for (let round = 0; round < 2; round++)
    expect((await replay('--diff', '--against', 'echo')).output).toMatch(/^0 of 3 turns changed/)
  // Those of a replay are kept, as all that the server gets.
  await expect.poll(async () => (await readdir(captureFolder)).length).toBe(3 + 2 * 2 * 3)
  const script = join(folder, 'script.json')
  expect(await replay('--script', script)).toMatchObject({ code: 0 })
  expect(JSON.parse(await readFile(script, 'utf8'))).toMatchObject([{ match: '^one$' }, { match: '^two$' }])
})

test('a model that answers none of the first turns ends the comparison, with the reason', async () => {
  const { replay } = await openCapturing(['one', 'two', 'three', 'four'])
  const { code, output } = await replay('--diff', '--against', 'nowhere')
  expect(code).toBe(1)
  expect(output).toMatch(/nowhere answers none of the first 3 turns: model 'nowhere' not found; available: echo/)
  expect(output).not.toContain('of 4 turns changed')
})
