import { readdirSync } from 'node:fs'
import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import type { TestProjectInlineConfiguration } from 'vitest/config'
import config from '../../vitest.config.ts'

test('every test file is of a project, so that it runs', async () => {
  const { test: settings } = await config({ mode: 'sources', command: 'serve' })
  const projects = settings?.projects as readonly TestProjectInlineConfiguration[]
  const includes = projects.flatMap((project) => project.test?.include ?? [])
  const files = readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.test.ts'))
  expect(files.length).toBeGreaterThan(100)
  expect(files.map((file) => `test/${file}`).filter((file) => !includes.some((glob) => matchesGlob(file, glob)))).toEqual([])
})
