package io.howdah.bench.rpc;

import com.google.protobuf.BlockingService;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.ServiceDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.Descriptors.ServiceDescriptor;
import com.google.protobuf.Message;
import com.google.protobuf.RpcController;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos;
import org.apache.hadoop.hdfs.protocol.proto.HdfsProtos.DirectoryListingProto;
import org.apache.hadoop.security.proto.SecurityProtos;
import org.apache.hadoop.security.proto.SecurityProtos.TokenProto;

/**
 * The server's side of {@link ProtobufEcho}. Its descriptor is put together here rather than compiled from a .proto
 * file, so that the build needs no protocol compiler. Thread-safe.
 */
final class ProtobufEchoService implements BlockingService {
  private static final ServiceDescriptor DESCRIPTOR = describe();

  private static ServiceDescriptor describe() {
    ServiceDescriptorProto.Builder service = ServiceDescriptorProto.newBuilder().setName("ProtobufEcho");
    addMethod(service, "echo", TokenProto.getDescriptor());
    addMethod(service, "list", DirectoryListingProto.getDescriptor());
    FileDescriptor[] uses = {SecurityProtos.getDescriptor(), HdfsProtos.getDescriptor()};
    FileDescriptorProto.Builder file = FileDescriptorProto.newBuilder();
    file.setName("howdah_bench.proto").addService(service);
    for (FileDescriptor used : uses) {
      file.addDependency(used.getName());
    }
    try {
      return FileDescriptor.buildFrom(file.build(), uses).findServiceByName("ProtobufEcho");
    } catch (DescriptorValidationException e) {
      throw new IllegalStateException("the benchmark's service doesn't fit Hadoop's messages", e);
    }
  }

  private static void addMethod(ServiceDescriptorProto.Builder service, String name, Descriptor message) {
    String type = "." + message.getFullName();
    service.addMethodBuilder().setName(name).setInputType(type).setOutputType(type);
  }

  @Override
  public ServiceDescriptor getDescriptorForType() {
    return DESCRIPTOR;
  }

  @Override
  public Message callBlockingMethod(MethodDescriptor method, RpcController controller, Message request) {
    return request;
  }

  @Override
  public Message getRequestPrototype(MethodDescriptor method) {
    boolean echo = method.getName().equals("echo");
    return echo ? TokenProto.getDefaultInstance() : DirectoryListingProto.getDefaultInstance();
  }

  @Override
  public Message getResponsePrototype(MethodDescriptor method) {
    return getRequestPrototype(method);
  }
}
