import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { follow } from '../../../../test/support/discovery/follow.ts'
import { fileSource } from './file-source.ts'

async function open(text: string | undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-endpoints-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'endpoints.txt')
  const write = async (next: string) => {
    await writeFile(`${file}.new`, next)
    await rename(`${file}.new`, file)
  }
  if (text !== undefined) await write(text)
  const warn = vi.fn<(message: string) => void>()
  /** One URL a line; `!` is a mistake. */
  const parse = vi.fn((content: string) => {
    if (content.includes('!')) throw new Error('line 1: not a URL')
    return content.split('\n').flatMap((url) => (url === '' ? [] : [{ url, weight: 1 }]))
  })
  return { file, write, warn, parse, ...follow(fileSource({ file, everyMs: 10, parse, warn })) }
}

test('a list is followed, and parsed only after a change', async () => {
  const { write, parse, urls, changed } = await open('http://a/v1')
  expect(await urls()).toEqual(['http://a/v1'])
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(parse).toHaveBeenCalledOnce()
  await write('http://a/v1\nhttp://b/v1')
  await changed()
  expect(await urls()).toEqual(['http://a/v1', 'http://b/v1'])
})

test.each(['http://a/v1!', 'gone'])('a file that is %s keeps the last list, and is named once', async (next) => {
  const { file, write, warn, heard, urls, until } = await open('http://a/v1')
  await urls()
  if (next === 'gone') await rm(file)
  else await write(next)
  await until(() => warn.mock.calls.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 60))
  const reason = next === 'gone' ? 'it cannot be read: there is no such file' : 'line 1: not a URL'
  expect(warn.mock.calls).toEqual([[`file: ${file}: ${reason}`]])
  expect(heard.sets).toHaveLength(1)
  await write('http://b/v1')
  await until(() => heard.sets.length === 2)
})

test('a list that stays empty is believed', async () => {
  const { write, heard, urls, changed } = await open('http://a/v1')
  await urls()
  await write('')
  await changed()
  expect(heard.sets.at(-1)).toEqual([])
})

test('a file that is not there yet is waited for', async () => {
  const { write, heard, until, urls } = await open(undefined)
  await until(() => heard.failures.length > 0)
  await write('http://a/v1')
  expect(await urls()).toEqual(['http://a/v1'])
})
