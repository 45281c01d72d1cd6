import { expect, test } from 'vitest'
import { openTestServer } from '../../../../test/support/http/test-server.ts'

test('the address itself says what runs there, as text and as a page, without a model', async () => {
  const { app } = openTestServer()
  const text = await app.inject('/')
  expect([text.statusCode, text.headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(text.body).toMatch(/^Dragoman 1\.2\.3 is running\.\n/)
  const page = await app.inject({ url: '/', headers: { accept: 'text/html,application/xhtml+xml' } })
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(page.body).toContain('<a href="v1/models">')
  expect(text.body + page.body).not.toContain('org/fake')
})

test.each([
  ['HEAD', '/', 200],
  ['GET', '/favicon.ico', 204],
  ['POST', '/', 405],
] as const)('%s %s is %i', async (method, url, status) => {
  expect((await openTestServer().app.inject({ method, url })).statusCode).toBe(status)
})
