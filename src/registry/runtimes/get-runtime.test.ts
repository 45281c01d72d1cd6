import { existsSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { serveReleases } from '../../../test/support/llama/llama-releases.ts'
import { getRuntime } from './get-runtime.ts'
import { listRuntimes, removeRuntime, runtimeInUse, useRuntime } from './installed.ts'

type Release = Parameters<typeof serveReleases>[0]

const working = { script: '#!/bin/sh\necho version: 9993\n' }

async function setUp(release: Partial<Release> = {}) {
  const home = await mkdtemp(join(tmpdir(), 'dragoman-runtimes-'))
  onTestFinished(() => rm(home, { recursive: true }))
  const mirror = await serveReleases({ program: working, ...release })
  const notes: string[] = []
  const get = (more: object = {}) => {
    const machine = { platform: 'linux', arch: process.arch }
    return getRuntime({ home, source: mirror.source, gpu: 'none', machine, onNote: (note) => notes.push(note), ...more })
  }
  const left = async () => (existsSync(join(home, 'runtimes')) ? (await readdir(join(home, 'runtimes'))).sort() : [])
  return { ...mirror, home, notes, get, left }
}

test('a build is fetched, verified and unpacked once, and leaves nothing else', async () => {
  const { get, home, requests, archive, left } = await setUp()
  const runtime = await get()
  expect(runtime).toMatchObject({ name: 'b9993-cpu', program: join(home, 'runtimes/b9993-cpu/llama-b9993/llama-server') })
  expect(await get({ version: 'b9993' })).toEqual(runtime)
  expect(requests).toEqual(['/releases/latest', `/releases/download/b9993/${archive}`, '/releases/tags/b9993'])
  expect(await left()).toEqual(['b9993-cpu', 'downloads'])
  expect(await readdir(join(home, 'runtimes', 'downloads'))).toEqual([])
})

test('callers that come together fetch a build once', async () => {
  const { get, requests, notes } = await setUp()
  const [one, two] = await Promise.all([get(), get()])
  expect(one).toEqual(two)
  expect(requests.filter((request) => request.includes('download'))).toHaveLength(1)
  expect(notes).toContainEqual(expect.stringMatching(/is already fetching b9993-cpu; waiting for it$/))
})

test('a lost connection is resumed', async () => {
  let breakOff: (() => void) | undefined
  const { get, requests, archive, body } = await setUp({
    instead: (request, response) => {
      if (breakOff !== undefined || request.url?.includes('/download/') !== true) return false
      breakOff = () => response.destroy()
      response.writeHead(200, { etag: '"one"', 'content-length': body.length }).write(body.subarray(0, 100))
      return true
    },
  })
  await expect(get({ onProgress: () => breakOff?.() })).resolves.toMatchObject({ name: 'b9993-cpu' })
  expect(requests.slice(1)).toEqual([
    `/releases/download/b9993/${archive}`,
    expect.stringMatching(/^\/releases\/download\/\S+ bytes=\d+-$/),
  ])
})

test('a download that was interrupted is resumed by the next', async () => {
  const interrupt = new AbortController()
  let isFirst = true
  const { get, requests, body, left } = await setUp({
    instead: (request, response) => {
      if (!isFirst || request.url?.includes('/download/') !== true) return false
      isFirst = false
      response.writeHead(200, { etag: '"one"', 'content-length': body.length }).write(body.subarray(0, 100))
      return true
    },
  })
  await expect(get({ signal: interrupt.signal, onProgress: () => interrupt.abort(new Error('enough')) })).rejects.toThrow(
    'enough',
  )
  expect(await left()).toEqual(['downloads'])
  await expect(get()).resolves.toMatchObject({ name: 'b9993-cpu' })
  expect(requests.at(-1)).toMatch(/^\/releases\/download\/\S+ bytes=\d+-$/)
})

test('an archive that cannot be unpacked is said, and leaves no build', async () => {
  const { get, home } = await setUp({ program: { archive: Buffer.from('not an archive') } })
  await expect(get()).rejects.toMatchObject({
    code: 'model-unavailable',
    message: expect.stringMatching(/\.tar\.gz cannot be unpacked: /),
  })
  expect(listRuntimes(home)).toEqual([])
})

test.each<[string, Partial<Release>, RegExp]>([
  [
    'an archive with another checksum',
    { describe: (asset) => ({ ...asset, digest: `sha256:${'f'.repeat(64)}` }) },
    /^the file's SHA-256 is [0-9a-f]{64}, but release b9993 says f{64}; the download was deleted$/,
  ],
  [
    'a release without checksums',
    { describe: (asset) => ({ ...asset, digest: null }) },
    /^release b9993 lists no SHA-256 of llama-b9993-bin-ubuntu-\w+\.tar\.gz, so that it cannot be verified: choose a newer release$/,
  ],
  [
    'a build that needs what this machine lacks',
    { program: { script: '#!/bin/sh\necho libvulkan.so.1: cannot open shared object file >&2\nexit 127\n' } },
    /^b9993-cpu does not run on this machine: libvulkan\.so\.1: cannot open shared object file; choose another build/,
  ],
  [
    'a refusal',
    { instead: (_, response) => response.writeHead(403).end() !== undefined },
    /refuses access \(status 403\); GitHub limits requests of one address: try again in an hour, or set `runtimes\.source`/,
  ],
  [
    'a page in the place of a release',
    { instead: (_, response) => response.end('<html>') !== undefined },
    /^the reply of 127\.0\.0\.1:\d+ is not JSON$/,
  ],
  [
    'another document in its place',
    { instead: (_, response) => response.end('{"tag_name":"../../etc","assets":[]}') !== undefined },
    /^127\.0\.0\.1:\d+ did not send a release in the form of GitHub's API$/,
  ],
])('%s is refused, and nothing is kept', async (_, release, message) => {
  const { get, left, home } = await setUp(release)
  await expect(get()).rejects.toMatchObject({ code: 'model-unavailable', message: expect.stringMatching(message) })
  expect((await left()).filter((name) => name !== 'downloads')).toEqual([])
  expect(listRuntimes(home)).toEqual([])
})

test('a version that there is not, and no network, are said', async () => {
  const { get } = await setUp()
  await expect(get({ version: 'b1' })).rejects.toThrow(/has no release b1 of llama\.cpp \(status 404\); check its name/)
  await expect(get({ source: 'http://127.0.0.1:9' })).rejects.toThrow(
    /^127\.0\.0\.1:9 cannot be reached \(.+\); check the network/,
  )
})

test('a full disk is noticed before anything is fetched', async () => {
  const { get, left } = await setUp({
    instead: (request, response) => {
      if (request.url?.includes('/download/') !== true) return false
      response.writeHead(200, { 'content-length': 2 ** 60, etag: '"one"' }).write('x')
      return true
    },
  })
  await expect(get()).rejects.toThrow(/^the disk has too little space: /)
  expect(await left()).toEqual(['downloads'])
})

test('the build in use is chosen, listed and forgotten when it is removed', async () => {
  const { get, home } = await setUp()
  const { name, program } = await get()
  expect(runtimeInUse(home)).toBeUndefined()
  await useRuntime(name, home)
  expect(runtimeInUse(home)?.program).toBe(program)
  await expect(useRuntime('b9993-cpux', home)).rejects.toThrow(
    /^'b9993-cpux' is not a runtime in \S+: there are b9993-cpu; did you mean 'b9993-cpu'\?$/,
  )
  expect(await removeRuntime(name, home)).toMatchObject({ name, wasInUse: true })
  expect(runtimeInUse(home)).toBeUndefined()
  expect(listRuntimes(home)).toEqual([])
  await expect(removeRuntime(name, home)).rejects.toThrow('there are none: `dragoman runtime get` fetches one')
})
