import { expect, test } from 'vitest'
import { hostOf, rootOf, urlOf } from './server-url.ts'

test.each([
  ['http://h:8000/v1', '/models', 'http://h:8000/v1/models'],
  ['http://h:8000/v1/', '/models', 'http://h:8000/v1/models'],
  ['http://[::1]:8000/v1', '/models', 'http://[::1]:8000/v1/models'],
  ['http://h/openai/deployments/x?api-version=1', '/models', 'http://h/openai/deployments/x/models?api-version=1'],
  ['http://h/v1?api-version=1', '/props?model=a', 'http://h/v1/props?model=a&api-version=1'],
])('%s and %s make %s', (base, path, url) => expect(urlOf(base, path)).toBe(url))

test.each([
  ['http://h/v1', 'http://h'],
  ['http://h/v1//', 'http://h'],
  ['http://h/prefix/v1?x=1', 'http://h/prefix?x=1'],
  ['http://h/v1/models', 'http://h/v1/models'],
  ['http://h/v1beta/openai', 'http://h/v1beta/openai'],
  ['http://[::1]:8000/v1/', 'http://[::1]:8000'],
])('the root of %s is %s', (url, root) => expect(rootOf(url)).toBe(root))

test.each([
  ['http://user:secret@h:8000/path/v1?key=secret', 'h:8000'],
  ['http://[::1]:8000/v1', '[::1]:8000'],
  ['secret', 'an address that is not a URL'],
])('%s is called %s', (url, host) => expect(hostOf(url)).toBe(host))
