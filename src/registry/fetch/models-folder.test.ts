import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readModelsFolder } from './models-folder.ts'

async function folderWith(...files: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-models-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  for (const file of files) {
    await mkdir(dirname(join(folder, file)), { recursive: true })
    await writeFile(join(folder, file), 'GGUF')
  }
  return folder
}

const idsOf = (folder: string) => readModelsFolder(folder).map(({ id, alias }) => (alias === undefined ? id : `${id} (${alias})`))

describe('the models of a folder', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['are named after their files', ['b.gguf', 'a.GGUF'], ['a', 'b']],
    ['are in folders of it too, also under the name of a folder with one model', ['x/y/Q4.gguf'], ['Q4 (y)']],
    ['have no name of a folder that has several', ['x/a.gguf', 'x/b.gguf'], ['a', 'b']],
    ['have their folders in their names where two are alike', ['x/a.gguf', 'y/a.gguf'], ['x/a (x)', 'y/a (y)']],
    ['have no spaces in their names', ['my models/a b.gguf'], ['a-b (my-models)']],
    ['are not projectors, adapters and matrices', ['x/mmproj-F16.gguf', 'x/m.gguf', 'my-lora.gguf', 'imatrix.gguf'], ['m (x)']],
    ['are not other files', ['a.safetensors', 'README.md', 'b.gguf.part'], []],
    ['have one name for all parts', ['x/m-00001-of-00002.gguf', 'x/m-00002-of-00002.gguf'], ['m (x)']],
    ['need all of their parts', ['m-00001-of-00003.gguf', 'm-00002-of-00003.gguf', 'n-00002-of-00002.gguf'], []],
  ])('the models of a folder %s', async (_, files, ids) => {
    expect(idsOf(await folderWith(...files))).toEqual(ids)
  })

  test('the models of a folder have the size of all parts, and the path of the first', async () => {
    const folder = await folderWith('m-00002-of-00002.gguf', 'm-00001-of-00002.gguf')
    expect(readModelsFolder(folder)).toEqual([
      { id: 'm', path: join(folder, 'm-00001-of-00002.gguf'), sizeBytes: 8, mtimeMs: expect.any(Number) },
    ])
  })

  test('the models of a folder have the projector that lies beside them', async () => {
    const folder = await folderWith('x/m-Q8_0.gguf', 'x/mmproj-F16.gguf', 'a.gguf', 'b.gguf', 'mmproj-b-F16.gguf')
    expect(readModelsFolder(folder).map(({ id, projector }) => [id, projector])).toEqual([
      ['a', undefined],
      ['b', join(folder, 'mmproj-b-F16.gguf')],
      ['m-Q8_0', join(folder, 'x', 'mmproj-F16.gguf')],
    ])
  })

  test('the models of a folder may be links; a circle of links and a broken one are no problem', async () => {
    const folder = await folderWith('a.gguf')
    await symlink(folder, join(folder, 'again'))
    await symlink(join(folder, 'a.gguf'), join(folder, 'b.gguf'))
    await symlink(join(folder, 'nothing'), join(folder, 'c.gguf'))
    const ids = readModelsFolder(folder).map(({ id }) => id)
    expect(ids).toContain('b')
    expect(ids).not.toContain('c')
  })
})

test('a folder that is not there is named', () => {
  expect(() => readModelsFolder('/nowhere/models')).toThrow(
    "modelsFolder '/nowhere/models' cannot be read: there is no such file",
  )
})
