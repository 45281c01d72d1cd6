import { describe, expect, it } from 'vitest'
import { workerEnvironment } from './process.ts'

describe('the environment of a worker', () => {
  it('the environment of a worker leaves out secrets', () => {
    expect(workerEnvironment({ HOME: '/h', HF_TOKEN: 't', openai_api_key: 'k' }, 16)).toEqual({ HOME: '/h' })
  })

  it('the environment of a worker has one thread for native work where there are few cores', () => {
    expect(workerEnvironment({}, 2)).toEqual({ UV_THREADPOOL_SIZE: '1' })
    expect(workerEnvironment({}, 4)).toEqual({ UV_THREADPOOL_SIZE: '1' })
    expect(workerEnvironment({}, 5)).toEqual({})
  })

  it('the environment of a worker keeps a number of threads that the operator chose', () => {
    expect(workerEnvironment({ UV_THREADPOOL_SIZE: '3' }, 2)).toEqual({ UV_THREADPOOL_SIZE: '3' })
  })
})
