#pragma once

#include <pthread.h>

namespace profgate::collector {

class lock_guard {
 public:
  explicit lock_guard(pthread_mutex_t& mutex) : m_mutex(mutex) { pthread_mutex_lock(&m_mutex); }
  ~lock_guard() { pthread_mutex_unlock(&m_mutex); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  pthread_mutex_t& m_mutex;
};

}  // namespace profgate::collector
