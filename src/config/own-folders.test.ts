import { syncBuiltinESMExports } from 'node:module'
import os from 'node:os'
import { afterEach, expect, test, vi } from 'vitest'
import { ownFolders } from './own-folders.ts'

const { homedir } = os
/** What modules import by its name is this one: the file may have been imported before this test. */
function replaceHome(home: typeof homedir): void {
  Object.assign(os, { homedir: home })
  syncBuiltinESMExports()
}

afterEach(() => {
  replaceHome(homedir)
  vi.restoreAllMocks()
})

test('a user without a name and without HOME has the home of containers', () => {
  replaceHome(() => {
    throw new Error('A system error occurred: uv_os_homedir returned ENOENT (no such file or directory)')
  })
  expect(ownFolders()).toEqual({ base: process.cwd(), userHome: '/' })
})

test('a current folder that is gone is named', () => {
  vi.spyOn(process, 'cwd').mockImplementation(() => {
    throw new Error('ENOENT: process.cwd failed')
  })
  expect(ownFolders).toThrow('the current folder no longer exists: start dragoman in another one')
})
