#pragma once

#include <nvtx3/nvToolsExt.h>

#include <string>

// A thin wrapper over NVTX's C API, which every NVTX distribution has (the C++ header is only in newer ones).
// Without an attached tool each call costs a few nanoseconds.
namespace profgate::nvtx {

class domain {
 public:
  explicit domain(const std::string& name) : m_handle(nvtxDomainCreateA(name.c_str())) {}
  domain(const domain&) = delete;
  domain& operator=(const domain&) = delete;
  ~domain() { nvtxDomainDestroy(m_handle); }
  nvtxDomainHandle_t handle() const { return m_handle; }

 private:
  nvtxDomainHandle_t m_handle;
};

/// The label of a range. Tools that gate on a range only see registered labels; a plain one exists for
/// programs that want to show what happens without registration.
class label {
 public:
  static label registered(const domain& owner, const char* text) {
    label result;
    result.m_attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    result.m_attributes.message.registered = nvtxDomainRegisterStringA(owner.handle(), text);
    return result;
  }
  /// text must outlive the label.
  static label plain(const char* text) {
    label result;
    result.m_attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    result.m_attributes.message.ascii = text;
    return result;
  }
  const nvtxEventAttributes_t* attributes() const { return &m_attributes; }

 private:
  label() {
    m_attributes.version = NVTX_VERSION;
    m_attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  }
  nvtxEventAttributes_t m_attributes{};
};

/// A push/pop range of the calling thread, open for the lifetime of the object. A null domain opens nothing.
class scoped_range {
 public:
  scoped_range(const domain* owner, const label& name) : m_owner(owner) {
    if (m_owner != nullptr) nvtxDomainRangePushEx(m_owner->handle(), name.attributes());
  }
  scoped_range(const scoped_range&) = delete;
  scoped_range& operator=(const scoped_range&) = delete;
  ~scoped_range() {
    if (m_owner != nullptr) nvtxDomainRangePop(m_owner->handle());
  }

 private:
  const domain* m_owner;
};

/// A start/end range: it may end on another thread and need not nest.
class started_range {
 public:
  started_range(const domain& owner, const label& name)
      : m_owner(owner), m_id(nvtxDomainRangeStartEx(owner.handle(), name.attributes())) {}
  started_range(const started_range&) = delete;
  started_range& operator=(const started_range&) = delete;
  ~started_range() { nvtxDomainRangeEnd(m_owner.handle(), m_id); }

 private:
  const domain& m_owner;
  nvtxRangeId_t m_id;
};

}  // namespace profgate::nvtx
