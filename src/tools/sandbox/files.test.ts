import { execFileSync } from 'node:child_process'
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { measureFolder } from './measure-folder.ts'
import { changedPictures, findPictures, pictureType, readPicture } from './pictures.ts'
import { SessionFolders } from './session-folders.ts'

const root = mkdtempSync(join(tmpdir(), 'dragoman-sandbox-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))
let made = 0
/** Makes folders whose names together are too long for a path. */
const deeper = "names=$(printf 'abcdefghijklmnop/%.0s' {1..200}); mkdir -p $names && cd -P $names && mkdir -p $names"
function makeDeep(at: string, depth: number): void {
  mkdirSync(join(at, ...Array.from({ length: depth }, () => 'd')), { recursive: true })
}
function folder(): string {
  const path = join(root, `${++made}`)
  mkdirSync(path)
  return path
}

describe('pictures', () => {
  test.each([
    ['plot.png', 'image/png'],
    ['Photo 1.JPG', 'image/jpeg'],
    ['ä.jpeg', 'image/jpeg'],
    ['a.gif', 'image/gif'],
    ['a.webp', 'image/webp'],
    ['a.bmp', 'image/bmp'],
  ])('the file %s has the type %s', (name, type) => {
    expect(pictureType(name)).toBe(type)
  })

  test.each([
    'notes.txt',
    'page.svg',
    'page.html',
    'png',
    '.png',
    '../a.png',
    'a/b.png',
    'a\\b.png',
    'a\n.png',
    'a\0.png',
    `${'a'.repeat(200)}.png`,
  ])('%j is not shown', async (name) => {
    expect(pictureType(name)).toBeUndefined()
    await expect(readPicture(folder(), name)).rejects.toMatchObject({ code: 'forbidden' })
  })

  test('what is new or changed is named, with nothing but files among it', async () => {
    const at = folder()
    writeFileSync(join(at, 'old.png'), 'old')
    writeFileSync(join(at, 'same.png'), 'same')
    const before = await findPictures(at)
    writeFileSync(join(at, 'old.png'), 'newer')
    writeFileSync(join(at, 'new.gif'), 'new')
    writeFileSync(join(at, 'empty.png'), '')
    writeFileSync(join(at, 'text.txt'), 'text')
    mkdirSync(join(at, 'folder.png'))
    symlinkSync('/etc/passwd', join(at, 'link.png'))
    expect(changedPictures(before, await findPictures(at))).toEqual(['new.gif', 'old.png'])
  })

  test('a picture is read as it is', async () => {
    const at = folder()
    writeFileSync(join(at, 'a.png'), 'bytes')
    expect(await readPicture(at, 'a.png')).toEqual({ mediaType: 'image/png', bytes: Buffer.from('bytes') })
  })

  test.each<[string, (at: string) => void]>([
    ['a link out of the folder', (at) => symlinkSync('/etc/passwd', join(at, 'a.png'))],
    [
      'a link to a file beside it',
      (at) => {
        writeFileSync(join(at, 'b.png'), 'b')
        symlinkSync('b.png', join(at, 'a.png'))
      },
    ],
    [
      'a second name of another file',
      (at) => {
        writeFileSync(join(at, 'b'), 'b')
        linkSync(join(at, 'b'), join(at, 'a.png'))
      },
    ],
    ['a folder', (at) => mkdirSync(join(at, 'a.png'))],
    ['a pipe, which would never end', (at) => void execFileSync('mkfifo', [join(at, 'a.png')])],
    ['nothing', () => undefined],
  ])('%s is not found', async (_, make) => {
    const at = folder()
    make(at)
    await expect(readPicture(at, 'a.png')).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('the folders of sessions', () => {
  const session = (id: string, principalId = 'key') => ({ id, principalId })

  test('the folders of sessions are one for each session of each key, and no name is a part of a path', async () => {
    const folders = new SessionFolders({ folder: folder(), idleMs: 1000 })
    await folders.prepare()
    const paths = await Promise.all([
      folders.open(session('one')),
      folders.open(session('two')),
      folders.open(session('one', 'other key')),
      folders.open(session('../../etc')),
      folders.open(session('/')),
    ])
    expect(new Set(paths).size).toBe(5)
    for (const path of paths) expect(path).toMatch(/\/[\da-f]{24}-[\da-f]{24}\/files$/)
    expect(await folders.open(session('one'))).toBe(paths[0])
  })

  test('the folders of sessions are deleted when they were not used for long, no matter which time programs have set', async () => {
    const folders = new SessionFolders({ folder: folder(), idleMs: 60_000 })
    const [used, idle] = [await folders.open(session('used')), await folders.open(session('idle'))]
    writeFileSync(join(idle, 'a'), 'a')
    const future = new Date(Date.now() + 1e9)
    utimesSync(idle, future, future)
    utimesSync(dirname(idle), new Date(Date.now() - 61_000), new Date(Date.now() - 61_000))
    await folders.deleteIdle(Date.now())
    expect([existsSync(used), existsSync(idle)]).toEqual([true, false])
  })

  test('the folders of sessions of one key are 32: the one that was not used for the longest time makes room', async () => {
    const folders = new SessionFolders({ folder: folder(), idleMs: 1e9 })
    const others = await folders.open(session('a', 'other key'))
    const paths: string[] = []
    for (let index = 0; index < 33; index++) {
      const path = await folders.open(session(`${index}`))
      const usedAt = new Date(1e12 + index * 1000)
      utimesSync(dirname(path), usedAt, usedAt)
      paths.push(path)
    }
    expect(paths.map((path) => existsSync(path))).toEqual([false, ...Array.from({ length: 32 }, () => true)])
    expect(existsSync(others)).toBe(true)
  })

  test('the folders of sessions are deleted however deep they are', async () => {
    const folders = new SessionFolders({ folder: folder(), idleMs: 1000 })
    const path = await folders.open(session('deep'))
    execFileSync('bash', ['-c', deeper], { cwd: path })
    await folders.delete(session('deep'))
    expect(existsSync(dirname(path))).toBe(false)
  })
})

describe('too much in a folder', () => {
  test.each<[string, (at: string) => void, RegExp | undefined]>([
    ['little', (at) => writeFileSync(join(at, 'a'), 'a'), undefined],
    ['large files', (at) => writeFileSync(join(at, 'a'), Buffer.alloc(3e6, 1)), /more than 2 MB/],
    [
      'a large file in a folder',
      (at) => {
        mkdirSync(join(at, 'b'))
        writeFileSync(join(at, 'b', 'a'), Buffer.alloc(3e6, 1))
      },
      /more than 2 MB/,
    ],
    ['a file with holes, which takes no room', (at) => void execFileSync('truncate', ['-s', '1G', join(at, 'a')]), undefined],
    ['a link to a large folder', (at) => symlinkSync('/usr', join(at, 'a')), undefined],
    ['folders that are just not too deep', (at) => makeDeep(at, 64), undefined],
    ['folders that are one too deep', (at) => makeDeep(at, 65), /64 deep/],
    ['very deep folders', (at) => void execFileSync('bash', ['-c', deeper], { cwd: at }), /64 deep/],
    ['many files', (at) => void execFileSync('bash', ['-c', 'touch {1..10001}'], { cwd: at }), /more than 10000 files/],
  ])('a folder with %s is measured', async (_, make, expected) => {
    const at = folder()
    make(at)
    const { tooMuch: found } = await measureFolder(at, 2 * 2 ** 20)
    if (expected === undefined) expect(found).toBeUndefined()
    else expect(found).toMatch(expected)
  })
})
