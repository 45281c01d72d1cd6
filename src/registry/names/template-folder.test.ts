import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TemplateFolder } from './template-folder.ts'

let root: string
let folder: TemplateFolder

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'dragoman-templates-'))
  const path = join(root, 'templates')
  await mkdir(join(path, 'folder.jinja'), { recursive: true })
  await writeFile(join(root, 'secret.jinja'), 'secret')
  await writeFile(join(path, 'chatml.jinja'), 'chatml')
  await writeFile(join(path, 'a.b.jinja'), 'a.b')
  await writeFile(join(path, 'notes.txt'), 'notes')
  await writeFile(join(path, '.jinja'), 'no name')
  await writeFile(join(path, 'huge.jinja'), Buffer.alloc(1024 * 1024 + 1))
  await writeFile(join(path, 'utf16.jinja'), Buffer.from('\ufeffchatml', 'utf16le'))
  await symlink(join(root, 'secret.jinja'), join(path, 'link.jinja'))
  folder = new TemplateFolder(path)
})
afterAll(() => rm(root, { recursive: true, force: true }))

describe('TemplateFolder', () => {
  test('its Jinja files are listed in order; links and folders are not', async () => {
    expect(await folder.list()).toEqual(['a.b', 'chatml', 'huge', 'utf16'])
  })

  test('a listed template is read', async () => {
    expect(await folder.read('chatml')).toBe('chatml')
    expect(await folder.read('a.b')).toBe('a.b')
  })

  test('the first of several names that is listed is found', async () => {
    expect(await folder.find(['../secret', 'link', 'chatml', 'a.b'])).toEqual({
      name: 'chatml',
      path: join(root, 'templates', 'chatml.jinja'),
    })
    expect(await folder.find(['folder', 'notes'])).toBeUndefined()
  })

  test.each(['../secret', 'link', 'folder', 'notes.txt', 'chatml.jinja', '', '.', '..', './chatml', '/etc/passwd', 'chatml\0'])(
    '%j is not the name of a template',
    async (name) => {
      expect(await folder.read(name)).toBeUndefined()
    },
  )

  test('a file far too large for a template is refused', async () => {
    await expect(folder.read('huge')).rejects.toThrow('at most 1048576')
  })

  test('a file in another encoding is refused by its name', async () => {
    await expect(folder.read('utf16')).rejects.toMatchObject({
      code: 'template-failed',
      message: expect.stringMatching(/'utf16'.* UTF-16: save it as UTF-8/),
    })
  })

  test('a missing folder is an internal error', async () => {
    await expect(new TemplateFolder(join(root, 'nowhere')).list()).rejects.toMatchObject({ code: 'internal' })
  })
})
